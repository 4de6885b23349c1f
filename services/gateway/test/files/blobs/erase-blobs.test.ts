import { jsonBlob } from '@runledger/blob-store/json-blob';
import { jetStreamBlobStore } from '@runledger/blob-store/jetstream-blob-store';
import type { BlobStore } from '@runledger/blob-store/blob-store';
import { newUuid, orgId } from '@runledger/contracts/ids';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { aRun } from '@runledger/testing/run-events';
import { waitFor } from '@runledger/testing/wait-for';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  eraseBlobs,
  unreferencedByRuns,
  type EraseBlobs,
  type FindUnreferenced,
} from '../../../src/files/blobs.ts';
import { clock } from '../../../src/kit.ts';
import { freshViews } from '../../../src/views/fresh-views.ts';
import { aLog } from '../../fixtures/gateway/a-log.ts';
import { appendAll } from '../../fixtures/runs/appended-facts.ts';
import { project } from '../../fixtures/views/a-projection.ts';
import { sqliteViews } from '../../fixtures/views/sqlite-views.ts';
import { queuedWith } from './a-sweep.ts';

const ORG = orgId(newUuid());
const someInputs = () => jsonBlob({ id: newUuid(), prompt: 'x'.repeat(5_000) });

describe('erasing blobs at once', () => {
  let open: AsyncDisposableStack;
  let log: EventLog;
  let find: FindUnreferenced;
  beforeEach(async () => {
    open = new AsyncDisposableStack();
    ({ log } = open.use(await aLog()));
    const views = open.use(sqliteViews());
    open.use(project(log, views));
    await waitFor('the projection', () => views.position());
    find = unreferencedByRuns(views, freshViews({ log, views, timeoutMs: 5_000, clock }));
  });
  afterEach(() => open.disposeAsync());

  const aStore = (): BlobStore => jetStreamBlobStore(log, { stream: 'BLOBS', youngForMs: 1_800_000 });
  /** `before` happens just before the blob is erased. */
  const erasing = (store: BlobStore, unreferenced = find, before?: () => Promise<unknown>): EraseBlobs =>
    eraseBlobs(
      {
        ...store,
        erase: async (blob) => {
          await before?.();
          await store.erase(blob);
        },
      },
      unreferenced,
      () => undefined,
    );

  it('gives the bytes back to a run that began to refer to them meanwhile', async () => {
    const store = aStore();
    const ref = await store.put(ORG, someInputs());
    const begin = () => appendAll(log, queuedWith(aRun(ORG), ref));
    expect(await erasing(store, find, begin)(ORG, [ref])).toBe(true);
    expect(await store.get(ORG, ref.sha256)).toBeDefined();
  });

  it('leaves it to the run to store them again when it refers to them later', async () => {
    const inputs = someInputs();
    const gateway = aStore();
    const ref = await gateway.put(ORG, inputs);
    expect(await erasing(aStore())(ORG, [ref])).toBe(true);
    expect(await gateway.get(ORG, ref.sha256)).toBeUndefined();
    // This gateway has put them a moment ago, and asks nobody.
    await gateway.put(ORG, inputs);
    expect(await gateway.get(ORG, ref.sha256)).toBeUndefined();
    await appendAll(log, queuedWith(aRun(ORG), ref));
    await gateway.confirm(ORG, inputs);
    expect(await gateway.get(ORG, ref.sha256)).toBeDefined();
  });

  it('erases nothing while it is unknown who refers to it', async () => {
    const store = aStore();
    const ref = await store.put(ORG, someInputs());
    expect(await erasing(store, async () => undefined)(ORG, [ref])).toBe(false);
    let looks = 0;
    const unknownAfter: FindUnreferenced = async (blobs) => ((looks += 1) === 1 ? blobs : undefined);
    expect(await erasing(store, unknownAfter)(ORG, [ref])).toBe(false);
    expect(await store.get(ORG, ref.sha256)).toBeDefined();
  });

  it('passes over what is gone', async () => {
    const store = aStore();
    const ref = await store.put(ORG, someInputs());
    const erase = erasing(store);
    expect(await erase(ORG, [ref])).toBe(true);
    expect(await erase(ORG, [ref])).toBe(true);
  });
});
