/**
 * What a search costs in views in a file: `node scripts/run.mjs services/gateway/bench/search.ts [runs] [rounds]`. It looks through all runs
 * of an organisation for a text that none has, page after page, and says how many each page looks at and for how long nobody else has a turn.
 */
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { newUuid, orgId } from '@runledger/contracts/ids';
import { aRun, queued } from '@runledger/testing/run-events';
import type { RunView } from '../src/views/run-view.ts';
import type { SortKey } from '../src/views/sort-key.decide.ts';
import { aView, folded } from '../test/fixtures/runs/folded-runs.ts';
import { smallRuns } from '../test/fixtures/runs/small-runs.ts';
import { sqliteViews } from '../test/fixtures/views/sqlite-views.ts';

const RUNS = Number(process.argv[2] ?? 1_000_000);
const ROUNDS = Number(process.argv[3] ?? 3);
const BATCH = 1_000;

const org_id = orgId(newUuid());
const WORDS =
  'a red fox in the snow under tall trees beside the frozen river at night with stars above'.split(' ');
const prompt = (number: number): string =>
  Array.from({ length: 12 }, (_, index) => WORDS[(number * 7 + index * index) % WORDS.length]).join(' ');

const say = (sentence: string): void => void process.stdout.write(`${sentence}\n`);

await using folder = await mkdtempDisposable(join(tmpdir(), 'runledger-bench-search-'));
await using views = sqliteViews({ path: join(folder.path, 'views.sqlite') });
const next = smallRuns(org_id);
const run = (number: number): RunView => {
  const { run: small } = next();
  const event = queued(aRun(org_id), {
    inputs: { prompt: prompt(number), seed: number },
    tags: [`customer:${number % 97}`],
  });
  const { request } = folded(event);
  return aView(number, { ...small, request });
};
let begun = performance.now();
let last = run(1);
for (let number = 1; number < RUNS; number += BATCH) {
  const batch = Array.from({ length: BATCH }, (_, index) => run(number + index));
  await views.save(batch);
  last = batch.at(-1) ?? last;
}
say(`${RUNS} runs were saved in ${((performance.now() - begun) / 1_000).toFixed(0)} s.`);

const lookThrough = async (text: string): Promise<void> => {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const search = { text, deploymentIds: [] };
  begun = performance.now();
  const pages: number[] = [];
  let found = 0;
  for (let behind: SortKey | undefined; ;) {
    const at = performance.now();
    const page = await views.listRuns({ org_id, limit: 100, search, ...(behind && { behind }) });
    pages.push(performance.now() - at);
    found += page.items.length;
    if (page.end === undefined) break;
    behind = page.end;
  }
  delay.disable();
  const took = performance.now() - begun;
  say(
    `"${text}": ${found} found in ${took.toFixed(0)} ms, ${pages.length} pages of ${Math.round(RUNS / pages.length)} runs, ` +
      `the longest ${Math.max(...pages).toFixed(0)} ms; others waited ${(delay.max / 1e6).toFixed(0)} ms at most`,
  );
};

const once = async (what: string, work: () => Promise<unknown>): Promise<void> => {
  begun = performance.now();
  const result = await work();
  say(`${what}: ${(performance.now() - begun).toFixed(1)} ms ${JSON.stringify(result)}`);
};

for (let round = 0; round < ROUNDS; round += 1) {
  await lookThrough('no run has it');
  await lookThrough(`${RUNS - 17}`);
  await once('the first page of a text that many runs have', async () => {
    const search = { text: 'red fox', deploymentIds: [] };
    return (await views.listRuns({ org_id, limit: 100, search })).items.length;
  });
  await once('a whole id', async () => {
    const search = { text: last.run.run_id, deploymentIds: [] };
    return (await views.listRuns({ org_id, limit: 100, search })).items.length;
  });
  await once('the first page of many ids', async () => {
    const search = { text: last.run.run_id.slice(0, 8), deploymentIds: [] };
    return (await views.listRuns({ org_id, limit: 100, search })).items.length;
  });
  await once('counts of them', async () => {
    const search = { text: last.run.run_id.slice(0, 8), deploymentIds: [] };
    return (await views.countRuns({ org_id, search })).counts.started;
  });
  await once('a text with a status', async () => {
    const search = { text: 'no run has it', deploymentIds: [] };
    return (
      (await views.listRuns({ org_id, limit: 100, search, statuses: ['queued'] })).end?.slice(0, 24) ?? 'all'
    );
  });
  await once('counts', async () => {
    const { counts, isComplete } = await views.countRuns({
      org_id,
      search: { text: 'red fox', deploymentIds: [] },
    });
    return { ...counts, isComplete };
  });
}
