import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { someOf } from '@runledger/testing/random/cases';
import { succeeded } from '@runledger/testing/run-events';
import { testBucket } from '@runledger/testing/servers/s3';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { anAttempt, numbered, upload } from '../../runs/attempts/an-upload.ts';
import type { TestGateway } from '../../fixtures/gateway/a-gateway.ts';
import { openTestBed, type TestBed } from '../../fixtures/gateway/test-bed.ts';
import { call } from '../../fixtures/requests/requests.ts';
import { anOutput } from '../../fixtures/runs/an-output.ts';
import { appendAll } from '../../fixtures/runs/appended-facts.ts';
import { untilErased } from '../../fixtures/views/erased-views.ts';

/** A run with one stored file, and the address of the file. */
const aRunWithFile = async (bed: TestBed, gateway: TestGateway) => {
  const attempt = await anAttempt(bed, gateway);
  const { status, body: file } = await upload(gateway, attempt, numbered(1_000));
  expect(status).toBe(201);
  await appendAll(bed.log, succeeded(attempt.run, [{ ...anOutput, data: { files: [file] } }]));
  const { body } = await call(`${gateway.api}/run/${attempt.run.run_id}`, bed.tenant.key);
  return { run: attempt.run, url: body.outputs[0].data.files[0].url as string };
};

describe.each(someOf(['jetstream', 'directory', 's3'], (kind) => kind === 'jetstream'))(
  'files of deleted runs in %s',
  (outputs) => {
    const open = new AsyncDisposableStack();
    let bed: TestBed;
    let gateway: TestGateway;
    beforeAll(async () => {
      bed = open.use(await openTestBed());
      const root = await mkdtemp(join(tmpdir(), 'runledger-erase-'));
      open.defer(() => rm(root, { recursive: true }));
      const environment =
        outputs === 's3'
          ? (await testBucket()).env
          : { RUNLEDGER_OUTPUTS: outputs, RUNLEDGER_OUTPUTS_DIRECTORY: root };
      gateway = await bed.gateway({ projecting: true, environment });
    });
    afterAll(() => open.disposeAsync());

    const remove = async ({ run_id }: RunKey, what = ''): Promise<void> => {
      const url = `${gateway.api}/run/${run_id}${what}`;
      expect((await call(url, bed.tenant.key, { method: 'DELETE' })).status).toBe(200);
    };
    const isErased = async (url: string): Promise<boolean> => (await fetch(url)).status === 404;
    const nothingToErase = async (): Promise<boolean> =>
      (await gateway.views.listToErase({ after: '', limit: 10 })).length === 0;

    it('are erased, and the view of the run has nothing left', async () => {
      const { run, url } = await aRunWithFile(bed, gateway);
      const { url: other } = await aRunWithFile(bed, gateway);
      expect(await isErased(url)).toBe(false);
      await remove(run);
      await waitFor('the file to be erased', () => isErased(url));
      await untilErased(gateway.views, run);
      expect(await isErased(other)).toBe(false);
    });

    it('are erased when only the outputs are deleted, and the run stays', async () => {
      const { run, url } = await aRunWithFile(bed, gateway);
      await remove(run, '/outputs');
      await waitFor('the file to be erased', () => isErased(url));
      await waitFor('nothing to be left', nothingToErase);
      const { body } = await call(`${gateway.api}/run/${run.run_id}`, bed.tenant.key);
      expect(body).toMatchObject({ status: 'success', outputs: [] });
      await remove(run);
      await untilErased(gateway.views, run);
    });

    it('stay erased when the views are derived again from the log', async () => {
      const { run, url } = await aRunWithFile(bed, gateway);
      await remove(run);
      await untilErased(gateway.views, run);
      const second = await bed.gateway({ projecting: true });
      await waitFor('the views of another gateway', async () => {
        const { body } = await call(`${second.api}/runs`, bed.tenant.key);
        return body.runs.length > 0;
      });
      expect((await call(`${second.api}/run/${run.run_id}`, bed.tenant.key)).status).toBe(404);
      expect(await isErased(url)).toBe(true);
    });
  },
);
