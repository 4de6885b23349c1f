/**
 * The largest part that each may have so that all together fit into the room: whoever has less keeps all of it. Undefined when
 * everything fits.
 */
export const fairPart = (amounts: readonly number[], room: number): number | undefined => {
  let left = room;
  for (const [index, amount] of amounts.toSorted((a, b) => a - b).entries()) {
    const part = Math.floor(left / (amounts.length - index));
    if (amount > part) return part;
    left -= amount;
  }
  return undefined;
};
