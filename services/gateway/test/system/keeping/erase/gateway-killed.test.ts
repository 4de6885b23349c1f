import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { succeeded } from '@runledger/testing/run-events';
import { waitFor } from '@runledger/testing/wait-for';
import { describe, expect, it } from 'vitest';
import { anAttempt, numbered, upload } from '../../../runs/attempts/an-upload.ts';
import { startGatewayProcess } from '../../../fixtures/gateway/a-service.ts';
import { openTestBed } from '../../../fixtures/gateway/test-bed.ts';
import { call } from '../../../fixtures/requests/requests.ts';
import { anOutput } from '../../../fixtures/runs/an-output.ts';
import { appendAll } from '../../../fixtures/runs/appended-facts.ts';

/** Processes start. */
const SLOW = { timeout: 120_000 };
const RUNS = 5;
const FILES = 4;

describe('a gateway that is killed between the deletion of runs and the erasing of their files', SLOW, () => {
  it('erases all of them when it starts again, and shows none of the runs', async () => {
    await using open = new AsyncDisposableStack();
    const bed = open.use(await openTestBed());
    const folder = await mkdtemp(join(tmpdir(), 'runledger-erase-'));
    open.defer(() => rm(folder, { recursive: true }));
    const outputs = { RUNLEDGER_OUTPUTS: 'directory', RUNLEDGER_OUTPUTS_DIRECTORY: folder };
    const uploads = await bed.gateway({ environment: outputs });
    const filesLeft = async (): Promise<number> =>
      (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('content')).length;

    const runs = await Promise.all(
      Array.from({ length: RUNS }, async () => {
        const attempt = await anAttempt(bed, uploads);
        const files = [];
        for (let number = 0; number < FILES; number += 1) {
          const { body } = await upload(uploads, attempt, numbered(100), { filename: `${number}.png` });
          files.push(body);
        }
        await appendAll(bed.log, succeeded(attempt.run, [{ ...anOutput, data: { files } }]));
        return attempt.run;
      }),
    );
    expect(await filesLeft()).toBe(RUNS * FILES);

    const views = join(await mkdtemp(join(tmpdir(), 'runledger-views-')), 'views.sqlite');
    open.defer(() => rm(join(views, '..'), { recursive: true }));
    const environment = {
      ...bed.nats.env,
      ...outputs,
      RUNLEDGER_VIEWS: 'sqlite',
      RUNLEDGER_VIEWS_FILE: views,
    };
    const first = open.use(await startGatewayProcess(environment));
    await Promise.all(
      runs.map(async ({ run_id }) => {
        const deleted = await call(`${first.api}/run/${run_id}`, bed.tenant.key, { method: 'DELETE' });
        expect(deleted.status).toBe(200);
      }),
    );
    first.kill('SIGKILL');
    await first.exit();

    const next = open.use(await startGatewayProcess(environment));
    await waitFor('all files to be erased', async () => (await filesLeft()) === 0);
    const { body } = await call(`${next.api}/runs`, bed.tenant.key);
    expect(body.runs).toEqual([]);
    for (const { run_id } of runs) {
      expect((await call(`${next.api}/run/${run_id}`, bed.tenant.key)).status).toBe(404);
    }
  });
});
