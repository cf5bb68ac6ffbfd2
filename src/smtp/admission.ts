/** Counts connections, in all and for each address. Behind the address of a balancer are many, so it isn't counted by itself. */
export interface Admission {
  /** Counts one in, or says which cap it would pass. */
  enter(address: string): "entered" | "full" | "address_full";
  leave(address: string): void;
  readonly total: number;
}

export function admission(
  maxTotal: number,
  maxPerAddress: number,
  uncountedAddresses: readonly string[] = [],
): Admission {
  const uncounted = new Set(uncountedAddresses.map(hostOf));
  const isCounted = (address: string) => uncounted.size === 0 || !uncounted.has(hostOf(address));
  const perSource = new Map<string, number>();
  let total = 0;
  return {
    enter(address) {
      if (total >= maxTotal) return "full";
      if (isCounted(address)) {
        const source = sourceOf(address);
        const count = perSource.get(source) ?? 0;
        if (count >= maxPerAddress) return "address_full";
        perSource.set(source, count + 1);
      }
      total += 1;
      return "entered";
    },
    leave(address) {
      total -= 1;
      if (!isCounted(address)) return;
      const source = sourceOf(address);
      const count = perSource.get(source) ?? 0;
      if (count <= 1) perSource.delete(source);
      else perSource.set(source, count - 1);
    },
    get total() {
      return total;
    },
  };
}

/** An IPv4 address as it is; of IPv6 the /64, since one host owns all of it (RFC 4291 §2.5.1). */
export function sourceOf(address: string): string {
  const plain = unmapped(address);
  if (!plain.includes(":")) return plain;
  const [head = "", tail] = plain.replace(/%.*$/, "").split("::");
  const left = head === "" ? [] : head.split(":");
  const right = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = tail === undefined ? [] : Array<string>(Math.max(0, 8 - left.length - right.length)).fill("0");
  const groups = [...left, ...zeros, ...right].slice(0, 4);
  return `${groups.map((group) => group.replace(/^0+(?=.)/, "")).join(":")}::/64`;
}

/** One address in its one usual spelling (RFC 5952). */
function hostOf(address: string): string {
  const plain = unmapped(address).replace(/%.*$/, "");
  return plain.includes(":") ? (URL.parse(`http://[${plain}]`)?.hostname ?? plain) : plain;
}

/** A listener on `::` sees an IPv4 address inside of an IPv6 one. */
function unmapped(address: string): string {
  return address.toLowerCase().replace(/^::ffff:(?=\d+\.)/, "");
}
