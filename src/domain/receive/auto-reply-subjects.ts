/**
 * Beginnings of the subjects of automatic replies, by language. They are in lower case and Unicode NFKC, with one space between words.
 */
const openings = phrases({
  en: `
    automatic reply, automatic response, automated reply, automated response, auto reply, auto-reply, autoreply, auto response
    auto-response, autoresponse, auto responder, autoresponder, out of office reply, out of office autoreply
    out of office auto-reply, out of office automatic reply, out of office response, out of office message
    out of office notification, out of office notice, out of office until, out of office from, out of office re
    out of the office until, vacation reply, vacation message, vacation notice, i am out of the office, i'm out of the office
    i am currently out of the office, i'm currently out of the office, away message, absence notice
  `,
  de: `
    automatische antwort, automatische rückantwort, automatische eingangsbestätigung, autom. antwort, abwesenheitsnotiz
    abwesenheitsnachricht, abwesenheitsbenachrichtigung, abwesenheitsmeldung, abwesenheitsassistent, abwesenheitsagent
    urlaubsbenachrichtigung, nicht im büro, bin nicht im büro
  `,
  fr: `
    réponse automatique, reponse automatique, message d'absence, message d’absence, absence du bureau, absent du bureau
    absente du bureau, répondeur automatique, notification d'absence
  `,
  es: `
    respuesta automática, respuesta automatica, fuera de la oficina, fuera de oficina, mensaje automático
  `,
  pt: `
    resposta automática, resposta automatica, fora do escritório, fora de escritório, ausência temporária
  `,
  it: `
    risposta automatica, fuori sede, fuori ufficio, assente dall'ufficio, assenza dall'ufficio
  `,
  nl: `
    automatisch antwoord, automatisch bericht, afwezigheidsbericht, afwezigheidsmelding, niet aanwezig, afwezig
    automatische beantwoording
  `,
  "sv, da, no": `
    automatiskt svar, autosvar, frånvaromeddelande, frånvarobesked, ej på kontoret, automatisk svar, autosvar, fraværsbesked
    fraværsmelding, fraværsassistent, ikke til stede, ikke på kontoret
  `,
  "fi, et, lv, lt": `
    automaattinen vastaus, poissaoloilmoitus, poissa toimistosta, automaatvastus, automaatne vastus, automātiska atbilde
    automātiskā atbilde, automatinis atsakymas
  `,
  "pl, cs, sk, hu, ro, sl, hr, sr, bg": `
    odpowiedź automatyczna, automatyczna odpowiedź, autoodpowiedź, nieobecność w biurze, poza biurem, automatická odpověď
    automatická odpoveď, mimo kancelář, mimo kancelárie, automatikus válasz, automatikus visszajelzés, házon kívül
    răspuns automat, raspuns automat, samodejni odgovor, automatski odgovor, аутоматски одговор, автоматичен отговор
  `,
  "ru, uk": `
    автоматический ответ, автоответ, автоответчик, вне офиса, автоматична відповідь, автовідповідь
  `,
  "tr, el, ar, he, fa": `
    otomatik yanıt, otomatik cevap, ofis dışında, αυτόματη απάντηση, εκτός γραφείου, رد تلقائي, الرد التلقائي, خارج المكتب
    תשובה אוטומטית, מענה אוטומטי, מחוץ למשרד, پاسخ خودکار
  `,
  "hi, vi, th, id, ms": `
    स्वचालित उत्तर, स्वतः उत्तर, trả lời tự động, thư trả lời tự động, ตอบกลับอัตโนมัติ, การตอบกลับอัตโนมัติ, balasan otomatis
    jawapan automatik, balasan automatik
  `,
  "zh, ja, ko": `
    自动回复, 自动答复, 自動回覆, 自動回復, 自動答覆, 不在办公室, 不在辦公室, 自動応答, 自動返信, 不在通知, 不在のお知らせ, 不在連絡, 자동 회신, 자동회신, 자동 응답, 자동응답, 부재중, 부재 중
  `,
  "ca, eu, gl": `
    resposta automàtica, erantzun automatikoa, resposta automática
  `,
});

/**
 * Beginnings that subjects of newsletters have too ("Out of office, into the sun"). They count only if the subject ends there, or goes on
 * with a colon, a bracket or a dash.
 */
const shortOpenings = phrases({
  all: `
    out of office, out of the office, out-of-office, ooo, on vacation, on leave, abwesenheit, im urlaub, absent, absente
    ausente, på semester, lomalla, szabadságon, в отпуске, izindeyim, 休暇中, 休假中
  `,
});

/** Words that Lotus Notes writes after `AUTO:` and the name of its user. */
const absences = phrases({
  all: `
    out of the office, außer haus, nicht im büro, absent, ausente, assente, afwezig, poza biurem, вне офиса, 不在
  `,
});

/** The number of characters of a subject that are read. The longest beginning is shorter, also after prefixes like `[EXTERNAL]`. */
const readLength = 200;

/** Whether a subject is that of an automatic reply. `Re: Automatic reply: …` is not: a person wrote it. */
export function isAutoReplySubject(subject: string): boolean {
  const text = subject.slice(0, readLength).normalize("NFKC").toLowerCase().replace(/\s+/g, " ").trim();
  if (text.startsWith("auto:") && absences.some((absence) => text.includes(absence))) return true;
  return beginsLikeAutoReply(text) || (text.startsWith("[") && beginsLikeAutoReply(behindTags(text)));
}

function beginsLikeAutoReply(text: string): boolean {
  const bare = text.replace(/^["'“„«<([*]/, "");
  return (
    openings.some((opening) => bare.startsWith(opening) && !/^[\p{L}\p{N}]/u.test(bare.slice(opening.length))) ||
    shortOpenings.some(
      (opening) => bare.startsWith(opening) && /^(?: ?[:()[\]–—]| - |!?$)/.test(bare.slice(opening.length)),
    )
  );
}

/** The subject without tags such as `[EXTERNAL]` at its beginning, of which it removes at most two. */
function behindTags(text: string): string {
  return text.replace(/^\[[^\]]{0,40}\] ?(?:\[[^\]]{0,40}\] ?)?/, "");
}

/** The list of the phrases in a table of texts. Phrases are separated by commas and line ends. */
function phrases(byLanguage: Readonly<Record<string, string>>): readonly string[] {
  return Object.values(byLanguage).flatMap((text) =>
    text
      .trim()
      .split(/[,\n]/)
      .map((phrase) => phrase.trim()),
  );
}
