import { readdir } from 'node:fs/promises';
import { describeWithMongo, testMongo } from '@runledger/testing/servers/mongo';
import { waitFor } from '@runledger/testing/wait-for';
import { folderInMemory } from '@runledger/testing/servers/servers-folder';
import { expect, it } from 'vitest';
import { openTestBed } from '../../fixtures/gateway/test-bed.ts';
import { call } from '../../fixtures/requests/requests.ts';
import { untilErased } from '../../fixtures/views/erased-views.ts';
import { mongoUrl, openViews } from '../../fixtures/views/mongo-views.ts';
import { aRunWithFile } from '../../keeping/retention/aged-runs.ts';

const RUNS = 12;

describeWithMongo('with a server', { timeout: 90_000 }, () => {
  it('two gateways delete runs of the views that they share: each once, shown by neither, and all files are erased', async () => {
    await using open = new AsyncDisposableStack();
    const bed = open.use(await openTestBed());
    const { path: root } = open.use(await folderInMemory('shared'));
    const environment = { RUNLEDGER_OUTPUTS: 'directory', RUNLEDGER_OUTPUTS_DIRECTORY: root };
    const url = mongoUrl(open.use(await testMongo()));
    const [one, other] = [open.use(openViews(url)), open.use(openViews(url))];
    const gateways = await Promise.all(
      [one, other].map((views) => bed.gateway({ views, projecting: true, environment })),
    );
    const [first, second] = gateways;
    if (!first || !second) throw new Error('there are two');
    const runs = [];
    for (let count = 0; count < RUNS; count += 1) runs.push(await aRunWithFile(bed, first, bed.tenant));
    const filesLeft = async (): Promise<number> =>
      (await readdir(root, { recursive: true })).filter((name) => name.endsWith('content')).length;
    expect(await filesLeft()).toBe(RUNS);

    const [kept, ...deleted] = runs;
    for (const { run } of deleted) {
      const remove = ({ api }: { readonly api: string }) =>
        call(`${api}/run/${run.run_id}`, bed.tenant.key, { method: 'DELETE' });
      const answers = await Promise.all([remove(first), remove(second), remove(first)]);
      const statuses = answers.map(({ status }) => status).toSorted((a, b) => a - b);
      expect(statuses).toEqual([200, 404, 404]);
      for (const { api } of gateways) {
        expect((await call(`${api}/run/${run.run_id}`, bed.tenant.key)).status).toBe(404);
        const { body } = await call(`${api}/runs`, bed.tenant.key);
        expect(body.runs.map(({ id }: { readonly id: string }) => id)).not.toContain(run.run_id);
      }
    }
    await waitFor('the files to be erased', async () => (await filesLeft()) === 1);
    await Promise.all(deleted.map(({ run }) => untilErased(one, run)));
    for (const { api } of gateways) {
      const { body } = await call(`${api}/runs`, bed.tenant.key);
      expect(body.runs.map(({ id }: { readonly id: string }) => id)).toEqual([kept?.run.run_id]);
    }
  });
});
