/** True for the subject of a reply: `Re: …`, `AW: …`, `Re[2]: …`, `[list] SV: …`, `回复：…`. */
export function hasReplyPrefix(subject: string): boolean {
  return replies.has(prefixOf(subject));
}

/** True for the subject of a forwarded mail: `Fwd: …`, `WG: …`. */
export function hasForwardPrefix(subject: string): boolean {
  return forwards.has(prefixOf(subject));
}

/** The word before the first colon, without a count of replies after it and without list tags before it. */
function prefixOf(subject: string): string {
  let line = subject.slice(0, mostRead).trimStart();
  for (let tags = 0; tags < 3 && line.startsWith("["); tags += 1) {
    line = line.slice(line.indexOf("]") + 1 || line.length).trimStart();
  }
  const colon = line.search(/[:：]/);
  if (colon < 1) return "";
  return line.slice(0, colon).replace(countBehind, "").trim().toLowerCase();
}

const mostRead = 200;

/** Matches the count of replies at the end of a prefix: `Re[2]`, `Re(3)`, `Re^4`, `Re*5`. */
const countBehind = / ?(?:\[\d{1,4}\]|\(\d{1,4}\)|[*^]\d{1,4})$/;

/** The prefixes of replies in all languages, in lower case. */
const replies: ReadonlySet<string> = new Set(
  [
    "re|aw|antw|antwort|sv|rv|rif|r|res|odp|ynt|cevap|vá|válasz|atb|ats|отв|ответ|відп|одг|odg",
    "απ|σχετ|תשובה|השב|رد|الرد|پاسخ|回复|回覆|答复|答覆|回信|返信|返|답장|회신|trả lời|trl|ตอบกลับ|ตอบ|balas|bls|răs|svar",
  ].flatMap((row) => row.split("|")),
);

/** The prefixes of forwarded mail. `VS` is in neither list, since it means a reply in Finnish and a forwarded mail in Danish. */
const forwards: ReadonlySet<string> = new Set(
  [
    "fw|fwd|wg|doorst|tr|enc|i|inolt|vl|vb|pd|továbbítás|ilt|πρθ|пересл|переслано",
    "הועבר|העברה|إعادة توجيه|转发|轉寄|轉發|転送|전달|chuyển tiếp|ส่งต่อ|trs",
  ].flatMap((row) => row.split("|")),
);
