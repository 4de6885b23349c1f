import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { PICTURES } from '../../src/pictures/pictures.ts';
import { isForeseen, type ForeseenStart } from '../../src/pictures/foreseen-starts.ts';
import {
  burst,
  BURST,
  burstInOneLine,
  DOCUMENTS,
  FORESEEN,
  foreseen,
  keyed,
  KEYED_SLOTS,
  lentAndTakenBack,
  LENT_SLOTS,
  limited,
  LIMITED_SLOTS,
  LISTED,
  listed,
  loadMs,
  prioritised,
  WARM,
  warm,
  weighed,
  WEIGHED_SLOTS,
} from '../../src/pictures/scenarios.ts';
import { waitMs, type PlayedRun } from '../../src/statistics.ts';

const FOLDER = fileURLToPath(new URL('../../../../docs/pictures/', import.meta.url));

describe('the pictures of docs/scheduling.md', () => {
  it.each([...PICTURES])('%s is the one that the command draws', async (name, draw) => {
    const committed = await readFile(`${FOLDER}${name}`, 'utf8');
    expect(committed === draw(), 'Draw it again: npm run simulate -- --pictures docs/pictures').toBe(true);
  });

  it('are all in their folder, and nothing else', async () => {
    expect(await readdir(FOLDER)).toEqual([...PICTURES.keys()].toSorted());
  });
});

const page = (await readFile(new URL('../../../../docs/scheduling.md', import.meta.url), 'utf8')).replaceAll(
  /\s+/g,
  ' ',
);

/** Only the text, for a page is long. */
const missing = (...texts: string[]): string[] => texts.filter((text) => !page.includes(text));

const of = (runs: readonly PlayedRun[], name: string): PlayedRun[] =>
  runs.filter(({ organisation }) => organisation === name);
const longest = (runs: readonly PlayedRun[]): number => Math.max(...runs.map((run) => waitMs(run)));
const minutes = (ms: number): number => Math.round(ms / 60_000);

/** In the middle of the picture, by far most of the time. */
const held = (runs: readonly PlayedRun[], name: string): number => {
  const atMs = 10 * 60_000;
  return of(runs, name).filter(
    ({ assignedMs, endedMs }) => (assignedMs ?? Infinity) <= atMs && endedMs > atMs,
  ).length;
};

describe('the numbers of docs/scheduling.md', () => {
  it('are those of the burst', () => {
    const [line, fair] = [burstInOneLine(), burst()];
    expect(missing(`queues ${BURST.runs} runs at once`, `there are ${BURST.slots} slots`)).toEqual([]);
    expect(
      missing(`the single runs wait up to ${minutes(longest(of(line, 'single runs')))} minutes`),
    ).toEqual([]);
    const seconds = Math.ceil(longest(of(fair, 'single runs')) / 1_000);
    expect(missing(`none waits longer than ${seconds} seconds`)).toEqual([]);
    // When its last run starts.
    const through = (runs: readonly PlayedRun[]): number => minutes(longest(of(runs, 'burst')));
    expect(missing(`through after ${through(fair)} minutes instead of ${through(line)}`)).toEqual([]);
  });

  it('are those of the weights', () => {
    const [acme, birch] = ['acme', 'birch'].map((name) => held(weighed(3), name));
    expect(missing(`With equal weights each holds ${held(weighed(1), 'acme')}`)).toEqual([]);
    expect(held(weighed(1), 'birch')).toBe(held(weighed(1), 'acme'));
    expect(missing(`with weights 3 : 1 one holds ${acme}, the other one ${birch}.`)).toEqual([]);
    expect(missing(`more runs than the ${WEIGHED_SLOTS} slots`)).toEqual([]);
  });

  it('are those of the keys', () => {
    const [runs] = DOCUMENTS.map((name) => keyed().filter(({ deployment }) => deployment === name));
    expect(missing(`Each of three documents has ${runs?.length} runs and never more than one slot`)).toEqual(
      [],
    );
    for (const name of DOCUMENTS) {
      const inOrder = keyed()
        .filter(({ deployment }) => deployment === name)
        .toSorted((a, b) => (a.assignedMs ?? 0) - (b.assignedMs ?? 0));
      const overlaps = inOrder.filter(
        ({ assignedMs }, n) => (inOrder[n - 1]?.endedMs ?? 0) > (assignedMs ?? 0),
      );
      expect(overlaps).toEqual([]);
    }
    // All documents have runs, and only they.
    const atFirst = keyed().filter(
      ({ assignedMs, endedMs }) => (assignedMs ?? Infinity) < 180_000 && endedMs > 180_000,
    );
    expect(atFirst.length).toBeLessThan(KEYED_SLOTS);
  });

  it('are those of the models', () => {
    const [both] = LISTED.names;
    const prefer = listed().filter(({ deployment }) => deployment === both);
    const [first] = prefer
      .filter(({ gpu }) => gpu === 'A10G')
      .map(({ assignedMs }) => assignedMs ?? 0)
      .toSorted((a, b) => a - b);
    const [queued] = prefer.map(({ queuedMs }) => minutes(queuedMs));
    expect(
      missing(
        `At minute ${queued} come ${prefer.length} runs that prefer L4. At minute ${minutes(first ?? 0)}, when they have waited ${LISTED.afterMinutes} minutes`,
        `${prefer.filter(({ gpu }) => gpu === 'A10G').length} of them, in turn`,
      ),
    ).toEqual([]);
    expect(first).toBeGreaterThanOrEqual(((queued ?? 0) + LISTED.afterMinutes) * 60_000);
  });

  it('are those of the warm wait', () => {
    const [without, waiting] = [warm(0), warm(WARM.waitS)];
    const loads = (runs: readonly PlayedRun[]): number => runs.filter((run) => loadMs(run) > 0).length;
    const taken = (runs: readonly PlayedRun[]): number =>
      minutes(runs.reduce((sum, { queuedMs, endedMs }) => sum + endedMs - queuedMs, 0) / runs.length);
    expect(
      missing(
        `on ${WARM.slots} slots. Without a warm wait a run takes any slot, and ${loads(without)} of ${without.length} runs load`,
        `With ${WARM.waitS} seconds ${loads(waiting)} do`,
        `takes ${taken(waiting)} minutes from queued to its end instead of ${taken(without)}`,
      ),
    ).toEqual([]);
  });

  it('are those of the starts', () => {
    const [all, withLimit] = [foreseen(), foreseen(FORESEEN.limit)];
    const within = (starts: readonly ForeseenStart[]): number => starts.filter(isForeseen).length;
    expect(
      missing(
        `${within(all)} of ${FORESEEN.waiting} start within their intervals, and with a limit of ${FORESEEN.limit} ${within(withLimit)} of ${FORESEEN.waiting}`,
      ),
    ).toEqual([]);
  });

  it('are those of the lent slots', () => {
    const birch = of(lentAndTakenBack(), 'birch').toSorted(
      (a, b) => (a.assignedMs ?? 0) - (b.assignedMs ?? 0),
    );
    expect(missing(`acme holds all ${LENT_SLOTS} slots. birch queues ${birch.length} runs`)).toEqual([]);
    const afterMs = (birch[3]?.assignedMs ?? 0) - 12 * 60_000;
    expect(missing(`within ${Math.ceil(afterMs / 60_000)} minutes it has its half`)).toEqual([]);
    expect(missing(`ends at minute ${minutes(Math.max(...birch.map(({ endedMs }) => endedMs)))}`)).toEqual(
      [],
    );
  });

  it('are those of the priorities', () => {
    const waits = prioritised().map(({ runs }) => {
      const at = runs.filter(({ queuedMs }) => Math.floor(queuedMs / 60_000) === 40);
      return minutes(longest(at));
    });
    expect(missing(`At minute 40 they wait ${waits[0]}, ${waits[1]} and ${waits[2]} minutes`)).toEqual([]);
  });

  it('are those of the limits', () => {
    const [without, limit] = [undefined, 4].map((slots) =>
      minutes(Math.max(...of(limited(slots), 'acme').map(({ endedMs }) => endedMs))),
    );
    expect(missing(`queues ${of(limited(), 'acme').length} runs`, `all ${LIMITED_SLOTS} slots`)).toEqual([]);
    expect(missing(`through after ${without} minutes. With a limit of 4`)).toEqual([]);
    expect(missing(`takes ${limit} minutes`)).toEqual([]);
  });
});
