/** Attributions as mail programs write them, in each language that the service knows. */
export const attributionLines: Readonly<Record<string, readonly string[]>> = {
  ar: ["في الثلاثاء، 3 مارس 2026 في 2:05 م تمت كتابة ما يلي بواسطة Ada Bot <ada@mail.test>:"],
  bg: ["На вт, 3.03.2026 г. в 14:05 Ада Бот <ada@mail.test> написа:"],
  ca: [
    "El dt., 3 de març 2026, 14:05, Ada Bot <ada@mail.test> va escriure:",
    "Missatge de Ada Bot <ada@mail.test> del dia dt., 3 de març 2026 a les 14:05:",
  ],
  cs: ["út 3. 3. 2026 v 14:05 odesílatel Ada Bot <ada@mail.test> napsal:", "Dne 03. 03. 26 v 14:05 Ada Bot napsal(a):"],
  da: [
    "Den tirs. 3. mar. 2026 kl. 14.05 skrev Ada Bot <ada@mail.test>:",
    "tirs. 3. mar. 2026 14.05 skrev Ada Bot <ada@mail.test>:",
  ],
  de: [
    "Am Di., 3. März 2026 um 14:05 Uhr schrieb Ada Bot <ada@mail.test>:",
    "Ada Bot <ada@mail.test> schrieb am Di., 3. März 2026, 14:05:",
    "Am 03.03.26 um 14:05 schrieb Ada Bot:",
    "Ada Bot schrieb am Do. 20. Juni 2024 um 14:49:",
  ],
  el: ["Στις Τρί 3 Μαρ 2026 στις 2:05 μ.μ., ο/η Ada Bot <ada@mail.test> έγραψε:"],
  en: [
    "On Dec 15, 2024, at 3:00 PM, John Smith <john@example.com> wrote:",
    "On Tue, Mar 3, 2026 at 2:05 PM Ada Bot <ada@mail.test> wrote:",
    "On Tue, 3 Mar 2026 at 14:05, Ada Bot <ada@mail.test> wrote:",
    "On 03/03/2026 14:05, Ada Bot wrote:",
    "On Tuesday, March 3rd, 2026 at 2:05 PM, Ada Bot <ada@mail.test> wrote:",
    "On Tuesday, 3 March 2026 at 14:05:07 GMT+1, Ada Bot <ada@mail.test> wrote:",
    "---- On Tue, 03 Mar 2026 14:05:07 +0100 Ada Bot <ada@mail.test> wrote ---",
    "---- On Tue, 03 Mar 2026 14:05:07 +0100 ada@mail.test wrote ----",
    "On Tue, 03 Mar 2026 14:05:07 +0100 Ada Bot <ada@mail.test> wrote",
  ],
  es: [
    "El mar, 3 mar 2026 a las 14:05, Ada Bot (<ada@mail.test>) escribió:",
    "El 3 mar 2026, a las 14:05, Ada Bot <ada@mail.test> escribió:",
  ],
  et: ["Kontakt Ada Bot (<ada@mail.test>) kirjutas kuupäeval T, 3. märts 2026 kell 14:05:"],
  eu: ["Erabiltzaileak Ada Bot (ada@mail.test) hau idatzi du (2026 mar. 3, ar. (14:05)):"],
  fa: ["در تاریخ سه‌شنبه ۳ مارس ۲۰۲۶ ساعت ۱۴:۰۵ Ada Bot <ada@mail.test> نوشت:"],
  fi: ["ti 3.3.2026 klo 14.05 Ada Bot (ada@mail.test) kirjoitti:", "Ada Bot kirjoitti 3.3.2026 klo 14.05:"],
  fr: [
    "Le mar. 3 mars 2026 à 14:05, Ada Bot <ada@mail.test> a écrit :",
    "Le 3 mars 2026 à 14:05, Ada Bot <ada@mail.test> a écrit :",
    "Le 03/03/2026 à 14:05, Ada Bot a écrit :",
  ],
  gl: ["O mar, 3 mar 2026 ás 14:05, Ada Bot (<ada@mail.test>) escribiu:"],
  he: ["‫בתאריך יום ג׳, 3 במרץ 2026 ב-14:05 מאת ‪Ada Bot‬‏ <‪ada@mail.test‬‏>:‬"],
  hi: ["मंगल, 3 मार्च 2026 को 2:05 pm बजे को Ada Bot <ada@mail.test> ने लिखा:"],
  hr: ["uto, 3. ožu 2026. u 14:05 Ada Bot <ada@mail.test> napisao je:"],
  hu: ["Ada Bot <ada@mail.test> ezt írta (időpont: 2026. márc. 3., K, 14:05):"],
  id: ["Pada tanggal Sel, 3 Mar 2026 pukul 14.05 Ada Bot <ada@mail.test> menulis:"],
  is: ["Þann þri., 3. mar. 2026 kl. 14:05 skrifaði Ada Bot <ada@mail.test>:"],
  it: [
    "Il giorno mar 3 mar 2026 alle ore 14:05 Ada Bot <ada@mail.test> ha scritto:",
    "Il 03/03/2026 14:05, Ada Bot ha scritto:",
  ],
  ja: ["2026年3月3日(火) 14:05 Ada Bot <ada@mail.test>:", "2026/03/03 14:05、Ada Bot <ada@mail.test>のメール:"],
  ko: ["2026년 3월 3일 (화) 오후 2:05, Ada Bot <ada@mail.test>님이 작성:"],
  lt: ["2026-03-03, an, 14:05 Ada Bot <ada@mail.test> rašė:"],
  lv: ["otrd., 2026. g. 3. marts, plkst. 14:05 — lietotājs Ada Bot (<ada@mail.test>) rakstīja:"],
  ms: ["Pada Sel, 3 Mac 2026 pada 2:05 PTG Ada Bot <ada@mail.test> menulis:"],
  nb: ["tir. 3. mar. 2026 kl. 14:05 skrev Ada Bot <ada@mail.test>:", "Den 03.03.2026 14:05, skrev Ada Bot:"],
  nl: [
    "Op di 3 mrt 2026 om 14:05 schreef Ada Bot <ada@mail.test>:",
    "Ada Bot <ada@mail.test> schreef op 3 maart 2026 14:05:",
  ],
  pl: ["wt., 3 mar 2026 o 14:05 Ada Bot <ada@mail.test> napisał(a):", "W dniu 03.03.2026 o 14:05, Ada Bot pisze:"],
  pt: [
    "Em ter., 3 de mar. de 2026 às 14:05, Ada Bot <ada@mail.test> escreveu:",
    "Ada Bot <ada@mail.test> escreveu no dia terça, 3/03/2026 à(s) 14:05:",
  ],
  ro: [
    "mar., 3 mar. 2026 la 14:05, Ada Bot <ada@mail.test> a scris:",
    "În mar., 3 mar. 2026 la 14:05, Ada Bot <ada@mail.test> a scris:",
  ],
  ru: [
    "вт, 3 мар. 2026 г. в 14:05, Ada Bot <ada@mail.test>:",
    "Вторник, 3 марта 2026, 14:05 +03:00 от Ada Bot <ada@mail.test>:",
    "3 марта 2026 г., в 14:05, Ada Bot <ada@mail.test> написал(а):",
  ],
  sk: ["ut 3. 3. 2026 o 14:05 Ada Bot <ada@mail.test> napísal(a):"],
  sl: ["V tor., 3. mar. 2026 ob 14:05 je oseba Ada Bot <ada@mail.test> napisala:"],
  sr: ["уто, 3. мар 2026. у 14:05 Ada Bot <ada@mail.test> је написао/ла:"],
  sv: [
    "Den tis 3 mars 2026 kl 14:05 skrev Ada Bot <ada@mail.test>:",
    "3 mars 2026 kl. 14:05 skrev Ada Bot <ada@mail.test>:",
  ],
  th: ["เมื่อ อ. 3 มี.ค. 2026 เวลา 14:05 Ada Bot <ada@mail.test> เขียนว่า:"],
  tr: [
    "Ada Bot <ada@mail.test>, 3 Mar 2026 Sal, 14:05 tarihinde şunu yazdı:",
    "3 Mar 2026 Sal 14:05 tarihinde Ada Bot <ada@mail.test> yazdı:",
  ],
  uk: ["вт, 3 бер. 2026 р. о 14:05 Ada Bot <ada@mail.test> пише:"],
  vi: ["Vào Th 3, 3 thg 3, 2026 vào lúc 14:05 Ada Bot <ada@mail.test> đã viết:"],
  zh: [
    "Ada Bot <ada@mail.test> 于2026年3月3日周二 14:05写道：",
    "在 2026年3月3日，14:05，Ada Bot <ada@mail.test> 写道：",
    "Ada Bot <ada@mail.test> 於 2026年3月3日 週二 下午2:05寫道：",
  ],
};

/** The sender's own lines that may stand right above an attribution, the last ones first. */
export const ownLines: readonly (readonly string[])[] = [
  [
    "the price is 4,200 EUR.",
    "Please pay by Friday.",
    "Your login code is 482913.",
    "It ends today",
    "Dear all,",
  ].toReversed(),
  ["Best", "Bob", "+49 30 123 4567", "Room 12", "bob@example.org"],
  ["On Friday we meet at 15:30", "In 2025 we paid 300", "At noon, then", "Am 3. Juni komme ich", "El 4 de mayo vengo"],
  ["Le 5 mai je suis là", "Em 2024 foi assim", "Op 6 juni kom ik", "Den 7. maj", "3 of them, please"],
  ["Ask Carol <carol@example.org> about it", "call me tomorrow", "Does 12:30 work for you?", "yes", "no"],
  [
    "See you on 3 March 2025 at 14:05",
    "On 3 March 2025 I paid 40 EUR",
    "Am 3. März 2025 um 14:05 komme ich",
    "2 kg at 14:05 on 3 March 2026 please",
    "Mail bob@example.org on 3 March 2026 at 10:00",
  ],
];

/** Attributions without a date, which count only above a marked quote. */
export const undatedAttributions: readonly string[] = [
  "Jane Doe <jane@example.com> wrote:",
  "Jane wrote:",
  "jane@example.com wrote:",
  "On Monday, Jane Doe <jane@example.com> wrote:",
  "Quoting Jane Doe <jane@example.com>:",
  "Ada Bot <ada@mail.test> schrieb:",
  "Ada Bot a écrit :",
];
