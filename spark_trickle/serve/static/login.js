// The form for the token: sent as JSON, never put into an address.
const form = document.getElementById("login");
const wrong = document.getElementById("wrong");

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  wrong.textContent = "";
  const answer = await fetch("/login", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({
      token: document.getElementById("token").value,
      name: document.getElementById("name").value,
    }),
  });
  if (answer.ok) {
    location.replace("/");
    return;
  }
  wrong.textContent = (await answer.json()).message;
});
