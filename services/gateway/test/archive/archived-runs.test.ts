import { aRun, assigned, deleted, queued, started, succeeded } from '@runledger/testing/run-events';
import { webhookDelivered } from '@runledger/testing/webhook-events';
import { expect, it } from 'vitest';
import { eraseArchived, noteErasure } from '../../src/archive/erase-archived.ts';
import { archivedRuns } from '../../src/archive/archived-runs.ts';
import { archivedSegments } from '../../src/archive/run-messages.ts';
import { archiveRecords, logName } from '../../src/archive/archive-records.ts';
import { aLog } from '../fixtures/gateway/a-log.ts';
import { appendAll, appendWebhook } from '../fixtures/runs/appended-facts.ts';
import { archiveAll, objectsOf, positionOf } from './archived-runs.ts';

const HOOK = { webhook: 'https://hooks.example/done' };

it('the archive gives each run of the log once, with what all segments have of it, and the oldest first, also while it is erased', async () => {
  await using test = await aLog();
  const { log } = test;
  const org = aRun().org_id;
  const [early, long, gone] = [aRun(org), aRun(org), aRun(org)];
  const late = aRun();
  await appendAll(log, queued(early), assigned(early), started(early), succeeded(early));
  await appendAll(log, queued(gone), assigned(gone), started(gone), succeeded(gone));
  await appendAll(log, queued(long, HOOK), assigned(long));
  await archiveAll(log);
  await appendAll(log, queued(late), started(long), succeeded(long));
  await archiveAll(log);
  await appendWebhook(log, webhookDelivered(long));
  const deletion = await appendAll(log, deleted(gone));
  await archiveAll(log);
  const erasing = {
    records: archiveRecords(log),
    objects: objectsOf(log),
    onRewritten: () => undefined,
  };
  await noteErasure(log, erasing.records)(gone, 'run', deletion);

  const position = await positionOf(log);
  if (!position) throw new Error('it is archived');
  const [records, objects] = [archiveRecords(log), objectsOf(log)];
  let isErased = false;
  const options = {
    records,
    objects: {
      // The records are read, and name the former objects.
      find: async (object: string) => {
        if (!isErased) await eraseArchived(log, erasing, new AbortController().signal);
        isErased = true;
        return objects.find(object);
      },
    },
    segments: archivedSegments({ records, objects, revision: async () => undefined }),
  };
  const found = new Map<string, { life: number; webhook: number; isErased: boolean }>();
  for await (const run of archivedRuns(options, logName(position), 0)) {
    const { key, life, webhook } = run;
    expect(found.has(key.run_id)).toBe(false);
    found.set(key.run_id, { life: life.length, webhook: webhook.length, isErased: run.isErased });
  }
  expect(found).toEqual(
    new Map([
      [early.run_id, { life: 4, webhook: 0, isErased: false }],
      [long.run_id, { life: 4, webhook: 1, isErased: false }],
      [gone.run_id, { life: 1, webhook: 0, isErased: true }],
      [late.run_id, { life: 1, webhook: 0, isErased: false }],
    ]),
  );
  expect([...found.keys()].at(-1)).toBe(late.run_id);
  for await (const run of archivedRuns(options, 'another log', 0))
    throw new Error(`it has ${run.key.run_id}`);
});
