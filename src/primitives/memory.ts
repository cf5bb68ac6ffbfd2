/** Values by key, of a limited number or size. The value that was set longest ago is forgotten first. */
export interface Memory<Key, Value> {
  get(key: Key): Value | undefined;
  set(key: Key, value: Value): void;
  delete(key: Key): void;
  clear(): void;
}

/**
 * Makes a memory of at most `most` values, or of values whose sizes are at most `most` together. When it is full, it forgets the oldest
 * eighth at once. Forgetting them one by one took 19 µs each in a memory of 50,000 values, because to find the oldest one the engine walks
 * past the gaps of deleted entries.
 */
export function boundedMemory<Key, Value>(
  most: number,
  sizeOf: (value: Value) => number = () => 1,
): Memory<Key, Value> {
  const kept = new Map<Key, Value>();
  let size = 0;

  function forget(key: Key): void {
    const value = kept.get(key);
    if (value !== undefined) size -= sizeOf(value);
    kept.delete(key);
  }

  function forgetOldest(): void {
    const left = most - Math.floor(most / 8);
    for (const oldest of kept.keys()) {
      if (size <= left) return;
      forget(oldest);
    }
  }

  return {
    get: (key) => kept.get(key),
    set(key, value) {
      forget(key);
      kept.set(key, value);
      size += sizeOf(value);
      if (size > most) forgetOldest();
    },
    delete: forget,
    clear() {
      kept.clear();
      size = 0;
    },
  };
}

/** A memory of values that expire. */
export interface PassingMemory<Key, Value> {
  get(key: Key, nowMs: number): Value | undefined;
  set(key: Key, value: Value, untilMs: number): void;
  delete(key: Key): void;
  clear(): void;
}

export function passingMemory<Key, Value>(most: number): PassingMemory<Key, Value> {
  const kept = boundedMemory<Key, { value: Value; untilMs: number }>(most);
  return {
    get(key, nowMs) {
      const entry = kept.get(key);
      return entry !== undefined && nowMs < entry.untilMs ? entry.value : undefined;
    },
    set: (key, value, untilMs) => kept.set(key, { value, untilMs }),
    delete: kept.delete,
    clear: kept.clear,
  };
}
