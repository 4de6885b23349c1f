import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { PICTURES } from '../../src/pictures/pictures.ts';
import {
  burst,
  burstInOneLine,
  lentAndTakenBack,
  limited,
  prioritised,
} from '../../src/pictures/scenarios.ts';
import { waitMs, type PlayedRun } from '../../src/statistics/played-run.ts';

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

describe('the numbers of docs/scheduling.md', () => {
  it('are those of the burst', () => {
    const [line, fair] = [burstInOneLine(), burst()];
    expect(
      missing(`the single runs wait up to ${minutes(longest(of(line, 'single runs')))} minutes`),
    ).toEqual([]);
    const seconds = Math.ceil(longest(of(fair, 'single runs')) / 1_000);
    expect(missing(`none waits longer than ${seconds} seconds`)).toEqual([]);
    // When its last run starts.
    const through = (runs: readonly PlayedRun[]): number => minutes(longest(of(runs, 'burst')));
    expect(missing(`through after ${through(fair)} minutes instead of ${through(line)}`)).toEqual([]);
  });

  it('are those of the lent slots', () => {
    const birch = of(lentAndTakenBack(), 'birch').toSorted(
      (a, b) => (a.assignedMs ?? 0) - (b.assignedMs ?? 0),
    );
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
    expect(missing(`through after ${without} minutes. With a limit of 4`)).toEqual([]);
    expect(missing(`takes ${limit} minutes`)).toEqual([]);
  });
});
