/** A PDF of one page with these lines, which are ASCII (ISO 32000-1 §7.5: header, objects, the table of their places, trailer). */
export function invoicePdf(lines: readonly string[]): Uint8Array {
  const shown = lines.map((line) => `(${line.replaceAll(/[\\()]/g, "\\$&")}) Tj T*`);
  const page = ["BT /F1 12 Tf 18 TL 60 780 Td", ...shown, "ET"].join("\n");
  const objects = [
    "<< /Type /Catalog /Pages 2 0 R >>",
    "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
    "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
    `<< /Length ${page.length} >>\nstream\n${page}\nendstream`,
    "<< /Type /Font /Subtype /Type1 /BaseFont /Courier >>",
  ];
  let pdf = "%PDF-1.4\n";
  const offsets: number[] = [];
  for (const [index, object] of objects.entries()) {
    offsets.push(pdf.length);
    pdf += `${index + 1} 0 obj\n${object}\nendobj\n`;
  }
  const table = offsets.map((offset) => `${String(offset).padStart(10, "0")} 00000 n \n`).join("");
  const count = objects.length + 1;
  const trailer = `trailer\n<< /Size ${count} /Root 1 0 R >>\nstartxref\n${pdf.length}\n%%EOF\n`;
  return new TextEncoder().encode(`${pdf}xref\n0 ${count}\n0000000000 65535 f \n${table}${trailer}`);
}
