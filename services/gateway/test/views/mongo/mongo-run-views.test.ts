import { beginningOf } from '../../../src/views/projection-start.decide.ts';
import { newUuid, orgId } from '@runledger/contracts/ids';
import { describeWithMongo, testMongo } from '@runledger/testing/servers/mongo';
import { aRun, assigned, queued } from '@runledger/testing/run-events';
import { MongoClient, type Db } from 'mongodb';
import { expect, it } from 'vitest';
import {
  documentOf,
  guardedWrite,
  writeGuarded,
  type RunDocument,
} from '../../../src/views/mongo/run-documents.ts';
import { storedPosition, type PositionDocument } from '../../../src/views/mongo/projection-position.ts';
import { aView, folded, timeOf } from '../../fixtures/runs/folded-runs.ts';
import { COLLECTION, insertViews, mongoUrl, openViews } from '../../fixtures/views/mongo-views.ts';

const aDatabase = async (open: AsyncDisposableStack): Promise<{ url: string; database: Db }> => {
  const url = mongoUrl(open.use(await testMongo()));
  const client = new MongoClient(url);
  open.defer(() => client.close());
  return { url, database: client.db() };
};

describeWithMongo('views in MongoDB', () => {
  it('are reset in pieces, and stay readable', async () => {
    await using open = new AsyncDisposableStack();
    const { url, database } = await aDatabase(open);
    const views = open.use(openViews(url, { readWithinMs: 10_000 }));
    const org = orgId(newUuid());
    const runs = Array.from({ length: 1_001 }, (_, index) => ({
      ...folded(queued(aRun(org))),
      number: index + 1,
      created_at: timeOf(index + 1),
    }));
    const documents = database.collection<RunDocument>(COLLECTION);
    await insertViews(
      url,
      runs.map((run) => aView(run.number, run)),
    );
    expect(await views.position()).toBeUndefined();
    await views.resetTo(
      beginningOf({ created: '2026-01-01T00:00:00.000000001Z', since: '2026-01-01T00:00:00.000000001Z' }, 1),
    );
    const { items } = await views.listRuns({ org_id: org, limit: 2_000 });
    expect(items).toEqual(runs.toReversed().map((run) => aView(0, run)));
    expect(await documents.countDocuments({ head: { $ne: 0 } })).toBe(0);
    expect(await views.position()).toMatchObject({ sequence: 0 });
  });

  it('are searched to the end while the time lasts', async () => {
    await using open = new AsyncDisposableStack();
    const { url } = await aDatabase(open);
    const views = open.use(openViews(url, { readWithinMs: 10_000, clock: () => 0 }));
    const org = orgId(newUuid());
    // More than the first piece of a search, by the index of any of the filters.
    const filling = Array.from({ length: 1_200 }, (_, index) => {
      const origin = index % 200 === 0 ? 'api' : 'manual';
      const run = folded(queued(aRun(org), { gpu: 'H100', origin: index === 1 ? 'replay' : origin }));
      return aView(1, { ...run, number: index + 1 });
    });
    await views.save(filling.slice(0, 1));
    await insertViews(url, filling.slice(1));
    const statuses = ['queued', 'success'] as const;
    const found = await views.listRuns({ org_id: org, limit: 5, origin: 'api', gpu: 'H100', statuses });
    expect(found.items.map(({ run }) => run.number)).toEqual([1_001, 801, 601, 401, 201]);
    const rest = await views.listRuns({ org_id: org, limit: 5, origin: 'replay', gpu: 'H100', statuses });
    expect(rest).toEqual({ items: filling.slice(1, 2), end: undefined });
  });

  it('are replaced by a later one also when an earlier one was inserted in the moment between search and insertion', async () => {
    await using open = new AsyncDisposableStack();
    const { url, database } = await aDatabase(open);
    const views = open.use(openViews(url));
    const key = aRun();
    const [earlier, later] = [aView(1, folded(queued(key))), aView(2, folded(queued(key), assigned(key)))];
    const stale = aView(1, folded(queued(aRun())));
    await views.save([{ ...stale, head: 5 }]);
    const runs = database.collection<RunDocument>(COLLECTION);
    // What a server does with two such upserts at once: it refuses the insertion that comes second, whatever it inserts.
    const tries: number[] = [];
    const bulkWrite: typeof runs.bulkWrite = async (writes, options) => {
      tries.push(writes.length);
      if (tries.length > 1) return runs.bulkWrite(writes, options);
      await views.save([earlier]);
      const insertions = [later, stale].map((view) => ({ insertOne: { document: documentOf(view) } }));
      return runs.bulkWrite(insertions, options);
    };
    await writeGuarded({ bulkWrite }, [later, stale].map(guardedWrite));
    expect(await views.load([later.run, stale.run])).toEqual([later, { ...stale, head: 5 }]);
    expect(tries).toEqual([2, 2]);
  });

  it('do not move a position that a copy was put in the place of during their batch, also one that is the same', async () => {
    await using open = new AsyncDisposableStack();
    const { database } = await aDatabase(open);
    const positions = database.collection<PositionDocument>('projections');
    const position = storedPosition(positions, 'v1');
    const since = '2026-01-01T00:00:00.000000001Z';
    const beginning = beginningOf({ created: since, since }, 1);
    const next = { ...beginning, sequence: 9, event_id: newUuid() };
    await position.reset(beginning, COLLECTION);
    const copy = await positions.find().toArray();
    const batch = await position.claim(beginning);
    await positions.deleteMany();
    await positions.insertMany(copy);
    expect([typeof batch, await position.move(beginning, next, batch)]).toEqual(['string', false]);
    const second = await position.claim(beginning);
    expect(await position.claim(next)).toBeUndefined();
    expect(await position.move(beginning, next, second)).toBe(true);
    expect(await position.read()).toEqual({ ...next, collection: COLLECTION });
  });

  it('are listed by an index for each filter', async () => {
    await using open = new AsyncDisposableStack();
    const { url, database } = await aDatabase(open);
    const views = open.use(openViews(url));
    await views.save([aView(1, folded(queued(aRun())))]);
    const keys = (await database.collection(COLLECTION).indexes()).map(({ key }) => Object.keys(key).join());
    expect(keys).toEqual(
      expect.arrayContaining([
        'org_id,sort_key',
        'org_id,status,sort_key',
        'org_id,deployment_id,sort_key',
        'org_id,workflow_id,sort_key',
        'org_id,gpu,sort_key',
        'org_id,origin,sort_key',
        'org_id,tags,sort_key',
        'org_id,webhook_status,sort_key',
        'org_id,webhook_host,sort_key',
      ]),
    );
  });
});
