import type { EventLog } from '@runledger/event-log/connect/event-log';
import { openSnapshot, restoreSnapshot } from '@runledger/event-log/migrate/copy-stream';
import { aRun, assigned, queued, started, succeeded } from '@runledger/testing/run-events';
import { folderInMemory } from '@runledger/testing/servers/servers-folder';
import { expect, it } from 'vitest';
import { openTestBed } from '../fixtures/gateway/test-bed.ts';
import { call } from '../fixtures/requests/requests.ts';
import { appendAll } from '../fixtures/runs/appended-facts.ts';
import { forgetBefore, untilOlder } from '../fixtures/runs/forgotten-log.ts';
import { archivedUpTo, ARCHIVES_AT_ONCE } from './archived-runs.ts';

/** As when RUNS alone is put back into a broker that was made anew: the same messages, in a stream of another creation. */
const restoreRuns = async (log: EventLog): Promise<void> => {
  const { chunks: sent, config, state } = await openSnapshot(log, 'RUNS');
  const chunks: Uint8Array[] = [];
  for await (const chunk of sent) chunks.push(chunk);
  await log.jsm.streams.delete('RUNS');
  const metadata = { ...config.metadata, runledger_created: '2026-01-01T00:00:00.000000001Z' };
  const again = async function* (): AsyncGenerator<Uint8Array> {
    yield* chunks;
  };
  await restoreSnapshot(log, { state, chunks: again() }, { ...config, metadata });
};

it(
  'a run that is half in the log and half archived is whole after RUNS alone was restored',
  { timeout: 60_000 },
  async () => {
    await using open = new AsyncDisposableStack();
    const bed = open.use(await openTestBed());
    const { path } = open.use(await folderInMemory('archive'));
    const where = { RUNLEDGER_ARCHIVE: 'directory', RUNLEDGER_ARCHIVE_DIRECTORY: path };
    const environment = { ...ARCHIVES_AT_ONCE, ...where };
    const run = aRun(bed.tenant.org_id);
    await appendAll(bed.log, queued(run), assigned(run), started(run));
    const first = await bed.gateway({ environment, projecting: true });
    await archivedUpTo(bed);
    await first[Symbol.asyncDispose]();
    await untilOlder(bed.log);
    await forgetBefore(bed.log, await appendAll(bed.log, succeeded(run)));
    const entriesAt = async ({ api }: { readonly api: string }): Promise<unknown> => {
      const shown = await call(`${api}/run/${run.run_id}`, bed.tenant.key);
      const { status, body } = await call(`${api}/run/${run.run_id}/history`, bed.tenant.key);
      return [
        shown.status,
        shown.body.status,
        status,
        body.entries?.map(({ type }: { type: string }) => type),
      ];
    };
    const before = await bed.gateway({ environment });
    const whole = await entriesAt(before);
    expect(whole).toEqual([200, 'success', 200, ['RunQueued', 'RunAssigned', 'RunStarted', 'RunSucceeded']]);
    await before[Symbol.asyncDispose]();

    await restoreRuns(bed.log);
    const after = await bed.gateway({ environment, projecting: true });
    expect(await entriesAt(after)).toEqual(whole);
    // Also when the restored log was archived.
    await archivedUpTo(bed);
    expect(await entriesAt(await bed.gateway({ environment }))).toEqual(whole);
  },
);
