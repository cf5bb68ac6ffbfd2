const algorithm = "AES-GCM";
/** The nonce is always the same, because each key seals one piece. */
const iv = new Uint8Array(12);

export const pieceKeyBytes = 32;
/** The bytes that sealing adds. */
export const tagBytes = 16;

/** Seals a piece of a source with AES-256-GCM. Its key is kept in the database alone: without the row, the bytes are noise. */
export async function sealPiece(plain: Uint8Array, key: Uint8Array): Promise<Uint8Array> {
  const imported = await imported32(key, "encrypt");
  return new Uint8Array(await crypto.subtle.encrypt({ name: algorithm, iv }, imported, plain as BufferSource));
}

/** Opens a sealed piece. Throws if the bytes are not those that were sealed with this key. */
export async function openPiece(sealed: Uint8Array, key: Uint8Array): Promise<Uint8Array> {
  const imported = await imported32(key, "decrypt");
  return new Uint8Array(await crypto.subtle.decrypt({ name: algorithm, iv }, imported, sealed as BufferSource));
}

function imported32(key: Uint8Array, use: "encrypt" | "decrypt"): Promise<CryptoKey> {
  return crypto.subtle.importKey("raw", key as BufferSource, algorithm, false, [use]);
}
