import { jsonBlob } from '@runledger/blob-store/json-blob';
import { openBlobStores } from '@runledger/blob-store/blob-stores';
import { blobSubject } from '@runledger/contracts/blobs';
import { newUuid, orgId } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { readRun } from '@runledger/event-log/read/read-run';
import { assigned, started, succeeded } from '@runledger/testing/run-events';
import { waitFor } from '@runledger/testing/wait-for';
import { expect, it } from 'vitest';
import { call, post } from '../../fixtures/requests/requests.ts';
import { anOutput } from '../../fixtures/runs/an-output.ts';
import { appendAll } from '../../fixtures/runs/appended-facts.ts';
import { queueSample, runIn } from '../../fixtures/runs/queued-runs.ts';
import { overEachViews } from '../../fixtures/views/over-each-views.ts';

const largeInputs = () => ({ id: newUuid(), prompt: 'x'.repeat(5_000) });
const largeOutputs = () => [{ ...anOutput, id: newUuid(), data: { text: ['y'.repeat(5_000)] } }];

overEachViews('what a deleted run referred to', (here) => {
  const blobs = () => openBlobStores(here.bed.log).blobs;
  const stored = async (): Promise<string[]> => {
    const filter = blobSubject('BLOBS', here.tenant.org_id, '0'.repeat(64)).replace(/[^.]+$/, '*');
    const { state } = await here.bed.log.jsm.streams.info('BLOBS', { subjects_filter: filter });
    return Object.keys(state.subjects ?? {}).map((subject) => subject.slice(-64));
  };
  const request = (method: 'DELETE' | 'GET', path: string) =>
    call(`${here.gateway.api}/run/${path}`, here.tenant.key, { method });
  const remove = async ({ run_id }: RunKey): Promise<void> => {
    expect((await request('DELETE', run_id)).status).toBe(200);
    await waitFor('everything to be erased', async () => {
      const { body } = await request('GET', `${run_id}/tombstone`);
      return body.state === 'erased';
    });
  };
  const end = async (run: RunKey) => {
    const outputs = await blobs().put(run.org_id, jsonBlob(largeOutputs()));
    const log = await blobs().put(run.org_id, jsonBlob({ log: newUuid() }));
    const ended = succeeded(run, [], outputs);
    await appendAll(here.bed.log, assigned(run), started(run), {
      ...ended,
      data: { ...ended.data, log_blob: log },
    });
    return { outputs, log };
  };
  const inputsOf = async (run: RunKey) => {
    const read = await readRun(here.bed.log, run);
    const blob = read.kind === 'found' ? read.run.request.inputs_blob : null;
    if (!blob) throw new Error('its inputs are no blob');
    return blob;
  };

  it('is erased at once, and the tombstone says what it was, when and by whom', async () => {
    const run = await queueSample(here.gateway, here.tenant, { inputs: largeInputs() });
    const inputs = await inputsOf(run);
    const { outputs, log } = await end(run);
    expect(await stored()).toHaveLength(3);
    await remove(run);
    expect(await stored()).toEqual([]);
    const { body } = await request('GET', `${run.run_id}/tombstone`);
    expect(body).toMatchObject({
      run_id: run.run_id,
      deleted_by: { user_id: here.tenant.user_id, key_id: expect.any(String) },
      erases: {
        files: 0,
        file_bytes: 0,
        inputs_bytes: inputs.bytes,
        outputs_bytes: outputs.bytes,
        log_bytes: log.bytes,
      },
    });
    expect(Date.parse(body.deleted_at)).toBeGreaterThan(Date.parse(body.created_at));
    expect((await request('GET', run.run_id)).status).toBe(404);
  });

  it('stays where another run has it too, until that is deleted as well', async () => {
    const inputs = largeInputs();
    const run = await queueSample(here.gateway, here.tenant, { inputs });
    const same = await queueSample(here.gateway, here.tenant, { inputs });
    const again = runIn(
      here.tenant,
      await post(`${here.gateway.api}/run/${run.run_id}/rerun`, here.tenant.key),
    );
    const { sha256 } = await inputsOf(run);
    for (const one of [run, same, again]) await end(one);
    await remove(run);
    await remove(again);
    expect(await stored()).toContain(sha256);
    const { body } = await request('GET', `${same.run_id}?include=inputs`);
    expect(body).toMatchObject({ workflow_inputs: inputs, missing_members: [] });
    await remove(same);
    expect(await stored()).toEqual([]);
  });

  it('stays for another organisation with equal content', async () => {
    const inputs = largeInputs();
    const other = await here.bed.newTenant();
    const run = await queueSample(here.gateway, here.tenant, { inputs });
    const theirs = await queueSample(here.gateway, other, { inputs });
    const { sha256 } = await inputsOf(run);
    await end(run);
    await remove(run);
    expect(await blobs().get(orgId(other.org_id), sha256)).toBeDefined();
    expect((await call(`${here.gateway.api}/run/${run.run_id}/tombstone`, other.key)).status).toBe(404);
    expect((await call(`${here.gateway.api}/run/${theirs.run_id}/tombstone`, other.key)).status).toBe(404);
  });

  it('of deleted outputs is their list, which is erased at once too', async () => {
    const run = await queueSample(here.gateway, here.tenant);
    const { outputs, log } = await end(run);
    await waitFor('the view', async () => (await here.gateway.views.find(run))?.run.status === 'success');
    expect((await request('DELETE', `${run.run_id}/outputs`)).status).toBe(200);
    await waitFor('the list to be erased', async () => !(await stored()).includes(outputs.sha256));
    expect(await stored()).toEqual([log.sha256]);
  });
});
