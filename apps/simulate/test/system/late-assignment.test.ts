import { chmod, mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RunEvent } from '@runledger/contracts/events/run-event';
import { orgId, runId } from '@runledger/contracts/ids';
import { readRun } from '@runledger/event-log/read/read-run';
import { createOrganisation } from '@runledger/standalone/create-organisation';
import { tcpProxy } from '@runledger/testing/servers/tcp-proxy';
import { waitFor } from '@runledger/testing/wait-for';
import { expect, it } from 'vitest';
import { call, startRealStack } from '../fixtures/real-stack.ts';

const WITHIN = { withinMs: 60_000 };

/** It ends when its run has a file in the folder. */
const programsFor = (folder: string): string => {
  const untilFile = `until [ -e '${folder}'/"$RUNLEDGER_RUN_ID" ]; do sleep 0.1; done`;
  const script = `read -r work; ${untilFile}; echo '{"output": {}}'`;
  return JSON.stringify({ 'render-image': { command: '/bin/sh', args: ['-c', script], readable: [folder] } });
};

it('an assignment that the log gets only in the next term begins nowhere, exceeds no limit, and its run succeeds', async () => {
  await using open = new AsyncDisposableStack();
  const folder = open.use(await mkdtempDisposable(join(tmpdir(), 'runledger-late-'))).path;
  // Programs of the executor may have another user.
  await chmod(folder, 0o755);
  const stack = open.use(await startRealStack(folder));
  const proxy = open.use(await tcpProxy(() => stack.account.port));
  await stack.startScheduler('first', { NATS_URL: proxy.url });
  const owner = await createOrganisation(stack.log, 'owner', () => new Date());
  const { deployment_id, org_id } = owner;
  await call(stack, owner, 'PATCH', `/deployments/${deployment_id}`, { concurrency_limit: 1 });
  await stack.startExecutor('box', {
    EXECUTOR_GPUS: 'A10G:2',
    EXECUTOR_PROGRAMS: programsFor(folder),
  });
  const queue = async (request: object): Promise<string> => {
    const body = { deployment_id, inputs: {}, ...request };
    return Object(await call(stack, owner, 'POST', '/run/deployment/queue', body)).run_id;
  };
  const factsOf = async (run: string): Promise<{ readonly event: RunEvent; readonly sequence: number }[]> => {
    const read = await readRun(stack.log, { org_id: orgId(org_id), run_id: runId(run) });
    return read.kind === 'found' ? [...read.facts] : [];
  };
  const typesOf = async (run: string): Promise<string[]> =>
    (await factsOf(run)).map(({ event }) => event.type);
  const sequencesOf = async (run: string, type: RunEvent['type']): Promise<number[]> =>
    (await factsOf(run)).flatMap((fact) => (fact.event.type === type ? [fact.sequence] : []));
  const fact = (run: string, type: RunEvent['type']): Promise<unknown> =>
    waitFor(`${type} of ${run}`, async () => (await typesOf(run)).includes(type), WITHIN);

  proxy.holdFrom('.life.assigned.');
  const late = await queue({});
  await writeFile(join(folder, late), '');
  await waitFor('the first to assign it', () => proxy.isHolding(), WITHIN);
  // It starts before the other one in the next term, and holds the only slot of the deployment.
  const urgent = await queue({ priority: 100 });
  await stack.startScheduler('second');
  await fact(urgent, 'RunStarted');
  expect(await typesOf(late)).toEqual(['RunQueued']);
  proxy.heal();
  await fact(late, 'RunAttemptFailed');
  const [, , givenBack] = await factsOf(late);
  expect(givenBack?.event.data).toMatchObject({ is_void: true });
  expect(await typesOf(late)).toEqual(['RunQueued', 'RunAssigned', 'RunAttemptFailed']);

  await writeFile(join(folder, urgent), '');
  await fact(late, 'RunSucceeded');
  const types = await typesOf(late);
  expect(types.filter((type) => type !== 'RunUploading')).toEqual([
    'RunQueued',
    'RunAssigned',
    'RunAttemptFailed',
    'RunAssigned',
    'RunStarted',
    'RunSucceeded',
  ]);
  const [urgentEnd = Infinity] = await sequencesOf(urgent, 'RunSucceeded');
  const [, begun = 0] = await sequencesOf(late, 'RunAssigned');
  expect(begun).toBeGreaterThan(urgentEnd);
}, 240_000);
