/**
 * What a call of `work` costs, by the cost of a fixed piece of work that takes turns with it: about microseconds on a processor of 2026, and
 * the same on any. Of each only the fastest turn counts, so that other work on the machine changes nothing, and they go on until neither gets
 * faster, so that it does not count how far the engine has compiled them.
 */
export const relativeCost = (work: (call: number) => unknown): number => {
  let calls = 0;
  const turn = (count: number): void => {
    for (let n = 0; n < count; n += 1) work((calls += 1));
  };
  const count = callsOfATurn(turn);
  let [own, fixed] = [Infinity, Infinity];
  for (let settled = 0; settled < SETTLED; settled += 1) {
    const [ownTurn, fixedTurn] = [timeOf(() => turn(count)), timeOf(fixedWork)];
    if (ownTurn < FASTER * own || fixedTurn < FASTER * fixed) settled = 0;
    own = Math.min(own, ownTurn);
    fixed = Math.min(fixed, fixedTurn);
  }
  return (own / count / fixed) * FIXED_COST;
};

/** So many turns in which neither got faster by a fiftieth. */
const SETTLED = 1_000;
const FASTER = 0.98;
const TURN_MS = 0.5;
/** So much, because the fixed piece took so many microseconds when it was written. */
const FIXED_COST = 300;
const FIXED_ITEMS = 1_000;

const timeOf = (work: () => void): number => {
  const began = performance.now();
  work();
  return performance.now() - began;
};

/** As many as fill a turn, once the engine has compiled them. */
const callsOfATurn = (turn: (count: number) => void): number => {
  for (let count = 1; ; count *= 2) {
    const took = Math.min(...Array.from({ length: 8 }, () => timeOf(() => turn(count))));
    if (took >= TURN_MS) return count;
  }
};

/** Of what services do: objects, texts, maps and sorting. */
const fixedWork = (): void => {
  const byName = new Map<string, { readonly n: number; readonly text: string }>();
  for (let n = 0; n < FIXED_ITEMS; n += 1) {
    const text = `item-${(n * 7_919) % FIXED_ITEMS}`;
    byName.set(text, { n, text });
  }
  const sorted = [...byName.values()].toSorted((a, b) => (a.text < b.text ? -1 : 1));
  if (JSON.stringify(sorted).length < FIXED_ITEMS) throw new Error('the fixed work changed');
};
