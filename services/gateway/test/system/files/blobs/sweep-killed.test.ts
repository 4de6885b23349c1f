import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openBlobStores } from '@runledger/blob-store/blob-stores';
import { jsonBlob } from '@runledger/blob-store/json-blob';
import { newUuid, orgId } from '@runledger/contracts/ids';
import { waitFor } from '@runledger/testing/wait-for';
import { expect, it } from 'vitest';
import { GATEWAY_SOURCE, startGatewayProcess } from '../../../fixtures/gateway/a-service.ts';
import { openTestBed } from '../../../fixtures/gateway/test-bed.ts';
import { call } from '../../../fixtures/requests/requests.ts';
import { queueSample } from '../../../fixtures/runs/queued-runs.ts';

const PRELOAD = new URL('./short-sweep-times.ts', import.meta.url);
const UNREFERENCED = 1_500;
const REFERRED = 10;

it(
  'a gateway that is killed in the middle of a sweep goes on when it starts again, and loses no referenced blob',
  { timeout: 240_000 },
  async () => {
    await using open = new AsyncDisposableStack();
    const bed = open.use(await openTestBed());
    const { path: folder } = open.use(await mkdtempDisposable(join(tmpdir(), 'runledger-sweep-')));
    const environment = {
      ...bed.nats.env,
      NODE_OPTIONS: `--import=${PRELOAD.href}`,
      RUNLEDGER_VIEWS: 'sqlite',
      RUNLEDGER_VIEWS_FILE: join(folder, 'views.sqlite'),
    };
    const messages = async () => (await bed.log.jsm.streams.info('BLOBS')).state.messages;

    const first = open.use(await startGatewayProcess(environment, GATEWAY_SOURCE));
    const inputsOf = (run: number) => ({ run, prompt: 'x'.repeat(5_000) });
    const runs = [];
    for (let run = 0; run < REFERRED; run += 1) {
      runs.push(await queueSample(first, bed.tenant, { inputs: inputsOf(run) }));
    }
    const { blobs } = openBlobStores(bed.log);
    const org = orgId(bed.tenant.org_id);
    const free = Array.from({ length: UNREFERENCED }, (_, id) => jsonBlob({ id, text: newUuid() }));
    for (let at = 0; at < free.length; at += 100) {
      await Promise.all(free.slice(at, at + 100).map((bytes) => blobs.put(org, bytes)));
    }
    const all = await messages();
    await waitFor('a part to be erased', async () => (await messages()) < all - 100, { withinMs: 60_000 });
    first.kill('SIGKILL');
    await first.exit();
    expect(await messages()).toBeGreaterThan(REFERRED);

    const next = open.use(await startGatewayProcess(environment, GATEWAY_SOURCE));
    await waitFor('the rest to be erased', async () => (await messages()) === REFERRED, { withinMs: 60_000 });
    for (const [run, { run_id }] of runs.entries()) {
      const { body } = await call(`${next.api}/run/${run_id}?include=inputs`, bed.tenant.key);
      expect([body.workflow_inputs, body.missing_members]).toEqual([inputsOf(run), []]);
    }
  },
);
