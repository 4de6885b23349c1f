/**
 * What the first and the last page of a long list of runs cost, side by side: in each round both are read from each
 * adapter, SQLite (in memory) and MongoDB. `node scripts/run.mjs services/gateway/bench/pages.ts [runs] [rounds] [runs in MongoDB]`
 */
import { newUuid, orgId } from '@runledger/contracts/ids';
import { beginningOf } from '../src/views/projection-start.decide.ts';
import { openSharedMongo } from '@runledger/testing/servers/shared-mongo';
import { MongoClient } from 'mongodb';
import { sqliteViews } from '../test/fixtures/views/sqlite-views.ts';
import { documentOf, type RunDocument } from '../src/views/mongo/run-documents.ts';
import { clock } from '../src/kit.ts';
import { firstCollectionOf } from '../src/views/mongo/view-places.ts';
import { VIEW_VERSION } from '../src/views/stored-run.decide.ts';
import { MONGO_LIMITS, openMongoViewStore } from '../src/views/mongo/mongo-view-store.ts';
import { sortKeyOf } from '../src/views/sort-key.decide.ts';
import type { RunQuery } from '../src/views/list-query.decide.ts';
import type { RunViews } from '../src/views/run-views.ts';
import type { RunView } from '../src/views/run-view.ts';
import { smallRuns } from '../test/fixtures/runs/small-runs.ts';

const RUNS = Number(process.argv[2] ?? 100_000);
const ROUNDS = Number(process.argv[3] ?? 50);
const IN_MONGODB = Number(process.argv[4] ?? RUNS);
/** A tenth of the runs has the status whose pages are read, and two pages of them are needed. */
const PAGE = Math.max(1, Math.min(100, Math.floor(Math.min(RUNS, IN_MONGODB) / 20)));
const DATABASE = `bench_${Date.now()}`;
const BATCH = 1_000;

const org_id = orgId(newUuid());

interface Pages {
  readonly name: string;
  readonly first: RunQuery;
  readonly last: RunQuery;
}

/** Of all runs, and of those with a status that a tenth of them has. */
const pagesOf = (views: readonly RunView[]): Pages[] => {
  const queued = views.filter(({ run }) => run.status === 'queued');
  const pages = (name: string, listed: readonly RunView[], filter: Partial<RunQuery>): Pages => {
    const beforeLast = listed[PAGE];
    if (!beforeLast) throw new Error('There are too few runs for two pages: ask for 20 or more.');
    const first = { org_id, limit: PAGE, ...filter };
    return { name, first, last: { ...first, behind: sortKeyOf(beforeLast.run) } };
  };
  return [pages('all', views, {}), pages('queued', queued, { statuses: ['queued'] })];
};

const timed = async (views: RunViews, query: RunQuery): Promise<number> => {
  const begun = performance.now();
  const { items } = await views.listRuns(query);
  const took = performance.now() - begun;
  if (items.length !== PAGE) throw new Error(`A page has ${items.length} runs, and ${PAGE} were expected.`);
  return took;
};

const measure = async (place: string, views: RunViews, filled: readonly RunView[]): Promise<void> => {
  say(`${filled.length} runs in ${place}, pages of ${PAGE}, median of ${ROUNDS} rounds:`);
  for (const { name, first, last } of pagesOf(filled)) {
    const rounds: { first: number; last: number }[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      rounds.push({ first: await timed(views, first), last: await timed(views, last) });
    }
    const firstMs = median(rounds.map((round) => round.first));
    const lastMs = median(rounds.map((round) => round.last));
    const ratio = (lastMs / firstMs).toFixed(2);
    say(`  ${name}: first ${firstMs.toFixed(2)} ms, last ${lastMs.toFixed(2)} ms, last by first ${ratio}`);
  }
};

const median = (values: readonly number[]): number =>
  values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? Number.NaN;

const say = (sentence: string): void => void process.stdout.write(`${sentence}\n`);

const make = smallRuns(org_id);
const runs = Array.from({ length: Math.max(RUNS, IN_MONGODB) }, make);

await using sqlite = sqliteViews();
const inSqlite = runs.slice(0, RUNS);
await sqlite.save(inSqlite);
await measure('SQLite', sqlite, inSqlite);

await using open = new AsyncDisposableStack();
const server = await openSharedMongo(process.env, open, say);
const [base = '', query = ''] = server.url.split('?');
const url = `${base.replace(/\/[^/]*$/, '')}/${DATABASE}${query === '' ? '' : `?${query}`}`;
const client = new MongoClient(url);
open.defer(() => client.close());
open.defer(async () => void (await client.db(DATABASE).dropDatabase()));
const views = open.use(openMongoViewStore({ url, clock, ...MONGO_LIMITS, readWithinMs: 120_000 }));
await views.resetTo(beginningOf({ created: new Date().toISOString(), since: new Date().toISOString() }, 1));
const documents = client.db(DATABASE).collection<RunDocument>(firstCollectionOf(VIEW_VERSION));
const inMongo = runs.slice(0, IN_MONGODB);
for (let begin = 0; begin < inMongo.length; begin += BATCH) {
  await documents.insertMany(inMongo.slice(begin, begin + BATCH).map(documentOf));
}
await measure(`MongoDB (${server.source})`, views, inMongo);
