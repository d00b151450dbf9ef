// Asking the server.

export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

export async function get(path, params) {
  const query = new URLSearchParams(params ?? {}).toString();
  return answered(await fetch(`/api/v1${path}${query ? `?${query}` : ""}`, { headers: { Accept: "application/json" } }));
}

export async function post(path, body) {
  const sent = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  return answered(await fetch(`/api/v1${path}`, sent));
}

async function answered(answer) {
  if (answer.status === 401) {
    location.replace("/login");
    throw new Refused(401, "logged out");
  }
  const value = await answer.json();
  if (!answer.ok) throw new Refused(answer.status, value.message);
  return value;
}
