import type { SliceFact, SliceGap, SliceHeader } from '@runledger/contracts/slices/slice';

/** How far facts are foreseen, in the time of the slice, and how many of them at most: a busy log has some thousand a second. */
const AHEAD_MS = 10_000;
const MOST_AHEAD = 50_000;

/** The facts of a slice in their order; each is passed to `foresee` while those up to some seconds before it are still to come. */
export async function* foreseen(
  lines: AsyncIterable<SliceHeader | SliceFact | SliceGap>,
  foresee: (fact: SliceFact) => void,
): AsyncGenerator<SliceFact> {
  let waiting: { readonly fact: SliceFact; readonly ms: number }[] = [];
  let taken = 0;
  for await (const line of lines) {
    if (line.kind !== 'fact') continue;
    const ms = Date.parse(line.time);
    foresee(line);
    waiting.push({ fact: line, ms });
    for (let first = waiting[taken]; first; first = waiting[taken]) {
      if (first.ms > ms - AHEAD_MS && waiting.length - taken <= MOST_AHEAD) break;
      taken += 1;
      yield first.fact;
    }
    if (taken > MOST_AHEAD) [waiting, taken] = [waiting.slice(taken), 0];
  }
  for (const { fact } of waiting.slice(taken)) yield fact;
}
