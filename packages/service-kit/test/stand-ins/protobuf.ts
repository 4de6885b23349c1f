/** The fields of one message of Protocol Buffers, by number: https://protobuf.dev/programming-guides/encoding/ */
export type Fields = ReadonlyMap<number, readonly (bigint | Uint8Array)[]>;

/** @throws {RangeError} for an invalid message */
export const readFields = (message: Uint8Array): Fields => {
  const view = new DataView(message.buffer, message.byteOffset, message.byteLength);
  const fields = new Map<number, (bigint | Uint8Array)[]>();
  let at = 0;
  const varint = (): bigint => {
    for (let value = 0n, shift = 0n; ; shift += 7n) {
      const byte = view.getUint8(at++);
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  const bytes = (length: number): Uint8Array => {
    if (at + length > message.byteLength) throw new RangeError('the message ends within a field');
    at += length;
    return message.subarray(at - length, at);
  };
  const value = (wireType: number): bigint | Uint8Array => {
    switch (wireType) {
      case 0:
        return varint();
      case 1:
        at += 8;
        return view.getBigUint64(at - 8, true);
      case 2:
        return bytes(Number(varint()));
      case 5:
        at += 4;
        return BigInt(view.getUint32(at - 4, true));
      default:
        throw new RangeError(`wire type ${wireType} is unknown`);
    }
  };
  while (at < message.byteLength) {
    const tag = Number(varint());
    const number = Math.floor(tag / 8);
    fields.set(number, [...(fields.get(number) ?? []), value(tag % 8)]);
  }
  return fields;
};

/** The messages, texts or byte strings of a repeated field. */
export const allBytes = (fields: Fields, number: number): Uint8Array[] =>
  (fields.get(number) ?? []).filter((value) => typeof value !== 'bigint');

export const textOf = (fields: Fields, number: number): string =>
  new TextDecoder().decode(allBytes(fields, number)[0]);

export const numberOf = (fields: Fields, number: number): number | undefined => {
  const [value] = fields.get(number) ?? [];
  return typeof value === 'bigint' ? Number(value) : undefined;
};
