// SQL with its words marked. Cuts a text into pieces and never changes one.
import { h } from "./dom.js";

const WORDS = new Set(
  ("all and anti any array as asc between by case cast create cross cube current date day desc distinct else end escape except exists explode " +
    "false filter first following for from full group grouping having if in inner insert intersect interval into is join last lateral left like limit " +
    "map minus month named natural not null nulls of offset on or order outer over partition pivot preceding qualify range recursive right rlike rollup row rows " +
    "select semi sets some struct table then timestamp true unbounded union unpivot using values view when where window with year").split(" "),
);
const PIECE =
  /(--[^\n]*|\/\*[\s\S]*?\*\/)|('(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*")|(`(?:[^`]|``)*`)|(\b\d+(?:\.\d+)?(?:[eE][+-]?\d+)?\b)|([A-Za-z_]\w*)/g;

export function sql(text) {
  const code = h("code");
  let at = 0;
  for (const match of text.matchAll(PIECE)) {
    if (match.index > at) code.append(text.slice(at, match.index));
    const [whole, comment, string, quoted, digits, name] = match;
    const next = text[match.index + whole.length];
    const kind = comment ? "c" : string ? "t" : quoted ? "q" : digits ? "n"
      : WORDS.has(name.toLowerCase()) ? "k" : next === "(" ? "f" : null;
    code.append(kind ? h("span", { class: `sql-${kind}` }, whole) : whole);
    at = match.index + whole.length;
  }
  code.append(text.slice(at));
  return h("pre", { class: "sql", tabindex: "0" }, code);
}
