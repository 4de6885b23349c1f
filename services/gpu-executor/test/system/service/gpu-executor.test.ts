import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { lastProgress } from '@runledger/event-log/streams/activity';
import { head } from '@runledger/event-log/read/read-run';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startService, type ServiceTestBed } from './service-test-bed.ts';
import type { AssignedRun } from '../../fixtures/assigned-run.ts';

let service: ServiceTestBed;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service[Symbol.asyncDispose]());

const types = async (run: AssignedRun): Promise<string[]> =>
  (await service.facts(run)).map(({ type }) => type);
const progressOf = (run: AssignedRun) => lastProgress(service.log, run, 1, service.executor);
const over = (): Promise<unknown> => service.over();

describe('an executor', () => {
  it('registers its capabilities', () => {
    expect(service.registered).toMatchObject({
      executor_id: expect.stringMatching(/^box\.[0-9a-f]{12}$/),
      slots: [
        { slot: 0, gpu: 'A10G' },
        { slot: 1, gpu: 'A10G' },
      ],
      machines: ['*'],
      programs: expect.arrayContaining(['render', 'busy']),
      isolation: expect.stringMatching(/^(strong|weak)$/),
      limits: expect.stringMatching(/^(cgroup|rlimits|none)$/),
      software_version: '0.1.0',
    });
  });

  it('executes an assigned run to success, with its files and its data stored', async () => {
    const { run } = await service.assign('render');
    const ended = await service.fact(run, 'RunSucceeded');
    expect(await types(run)).toEqual([
      'RunQueued',
      'RunAssigned',
      'RunStarted',
      'RunUploading',
      'RunSucceeded',
    ]);
    expect(ended).toMatchObject({
      executor_id: service.executor,
      attempt: 1,
      correlation_id: 'request-1',
      causation_id: run.assigned.event_id,
      data: {
        outputs: [
          {
            output_id: 'render',
            data: {
              text: ['a caption'],
              images: [{ filename: 'a.png', content_type: 'image/png', bytes: 5 }],
            },
          },
        ],
      },
    });
    expect(service.gateway.stored.get('a.png')?.toString()).toBe('12345');
    await over();
  });

  it('stores a text of more than 4 KiB as a file', async () => {
    const { run } = await service.assign('story');
    const file = { filename: 'text-2.txt', content_type: 'text/plain; charset=utf-8', bytes: 5_000 };
    expect(await service.fact(run, 'RunSucceeded')).toMatchObject({
      data: { outputs: [{ data: { text: ['short', file] } }] },
    });
    expect(service.gateway.stored.get('text-2.txt')?.toString()).toMatch(/^0+7$/);
  });

  it('stores a list of outputs of more than 4 KiB, and refers to it', async () => {
    const { run } = await service.assign('many');
    const [{ data }] = [await service.fact(run, 'RunSucceeded')];
    expect(data).toEqual({
      outputs: null,
      outputs_blob: { sha256: expect.stringMatching(/^[0-9a-f]{64}$/), bytes: expect.any(Number) },
    });
    expect(service.gateway.lists.at(-1)).toMatchObject([
      { output_id: 'many', data: { files: expect.arrayContaining([expect.objectContaining({ bytes: 2 })]) } },
    ]);
  });

  it('fails a run whose list of outputs has no room', async () => {
    service.gateway.failures = [...Array.from({ length: 30 }, () => null), 507];
    const { run } = await service.assign('many');
    expect(await service.fact(run, 'RunFailed')).toMatchObject({
      data: {
        error: {
          kind: 'storage_full',
          message: expect.stringContaining(
            'The list of outputs could not be stored: the gateway responded with 507',
          ),
        },
        outputs: [],
      },
    });
  });

  it('stores no RunUploading when there are no files', async () => {
    const { run } = await service.assign('quiet');
    await service.fact(run, 'RunSucceeded');
    expect(await types(run)).toEqual(['RunQueued', 'RunAssigned', 'RunStarted', 'RunSucceeded']);
  });

  it('stores why a run failed', async () => {
    const { run } = await service.assign('fail');
    expect(await service.fact(run, 'RunFailed')).toMatchObject({
      data: {
        error: {
          kind: 'program_exit',
          exit_code: 3,
          message: expect.stringMatching(/exit code 3\.\nsize is too large$/),
        },
      },
    });
  });

  it('fails a run with an unknown program as not runnable', async () => {
    const { run } = await service.assign('unknown');
    expect(await service.fact(run, 'RunFailed')).toMatchObject({
      data: {
        error: { kind: 'not_runnable', message: expect.stringContaining('names no program "unknown"') },
      },
    });
  });

  it('tries an upload again while the gateway is unavailable, and accepts its refusal', async () => {
    service.gateway.failures = [503, 'broken', 409];
    const { run } = await service.assign('render');
    await service.fact(run, 'RunSucceeded');
    service.gateway.failures = [413];
    const { run: large } = await service.assign('render');
    expect(await service.fact(large, 'RunFailed')).toMatchObject({
      data: {
        error: {
          kind: 'output_too_large',
          message: expect.stringContaining('a.png could not be stored: the gateway responded with 413'),
        },
      },
    });
  });

  it('says how far it is while it stores files, and that the gateway does not take them', async () => {
    service.gateway.failures = [503, 503, 503, 503];
    const { run } = await service.assign('render');
    const told = () =>
      progressOf(run).then((report) => report?.live_status?.endsWith('waiting for the gateway') && report);
    expect(await waitFor('an upload that waits', told)).toMatchObject({
      progress: 0.5,
      live_status: 'storing output files: 0 of 1 stored, 0 % of 5 bytes sent, waiting for the gateway',
    });
    await service.fact(run, 'RunSucceeded');
  });

  it('fails a run at once when a store of the gateway is full, and frees its slot', async () => {
    const { tries } = service.gateway;
    service.gateway.failures = [507];
    const { run } = await service.assign('render');
    expect(await service.fact(run, 'RunFailed')).toMatchObject({
      data: {
        error: { kind: 'storage_full', message: expect.stringContaining('responded with 507: failure 507') },
      },
    });
    expect(service.gateway.tries).toBe(tries + 1);
    const { run: next } = await service.assign('render');
    await service.fact(next, 'RunSucceeded');
  });

  it.each(['busy', 'stubborn'])('cancels a run whose program is %s', async (program) => {
    const { run } = await service.assign(program);
    // One that ends at once reports none.
    expect(await waitFor('progress', () => progressOf(run))).toMatchObject({
      progress: 0.25,
      live_status: 'busy',
    });
    await service.append(run.cancelRequested, await head(service.log, run));
    expect(await service.fact(run, 'RunCancelled')).toMatchObject({
      data: { forced: program === 'stubborn', outputs: [], progress: 0.25 },
    });
    await over();
  });

  it('kills a run that the scheduler requeued, and stores nothing more about it', async () => {
    const { run } = await service.assign('busy');
    await waitFor('progress', () => progressOf(run));
    await service.append(run.requeued, await head(service.log, run));
    await over();
    expect((await types(run)).at(-1)).toBe('RunRequeued');
  });

  it.each(['goes on', 'ends'])(
    'stores nothing about a run that was requeued while the executor was stopped, when its program %s meanwhile',
    async (what) => {
      const { run } = await service.assign('waiting');
      await waitFor('progress', () => progressOf(run));
      service.kill('SIGSTOP');
      if (what === 'ends') {
        const paths = readdirSync(service.workFolder, { encoding: 'utf8', recursive: true });
        const outputs = join(service.workFolder, paths.find((path) => path.endsWith('-outputs')) ?? '');
        writeFileSync(join(outputs, 'go'), '');
        await waitFor('its end', () => existsSync(join(outputs, 'ended')));
      }
      await service.append(run.requeued, await head(service.log, run));
      service.kill('SIGCONT');
      await over();
      expect((await types(run)).at(-1)).toBe('RunRequeued');
    },
  );

  it('begins a run only after the previous run in the slot has ended', async () => {
    const first = await service.assign('stubborn');
    await waitFor('progress', () => progressOf(first.run));
    await service.append(first.run.requeued, await head(service.log, first.run));
    const second = await service.assign('quiet');
    const started = await service.fact(second.run, 'RunStarted');
    await service.fact(second.run, 'RunSucceeded');
    const ended = service.output().indexOf(`"run_id":"${first.run.run_id}","attempt":1,"msg":"over"`);
    const begun = service.output().indexOf(`"run_id":"${second.run.run_id}","attempt":1,"msg":"executing"`);
    expect(started.attempt).toBe(1);
    expect(ended).toBeGreaterThan(-1);
    expect(begun).toBeGreaterThan(ended);
  });

  it('continues after a message without a fence in its run', async () => {
    const { run } = await service.assign('busy');
    await waitFor('progress', () => progressOf(run));
    const forged = `runs.${run.org_id}.${run.run_id}.life.ended.scheduler.1.none`;
    await service.log.js.publish(forged, '{}');
    await service.append(run.cancelRequested, await head(service.log, run));
    expect(await service.fact(run, 'RunCancelled')).toMatchObject({ attempt: 1 });
  });

  it('ends a run that executed while the broker was unavailable', async () => {
    const { run } = await service.assign('busy');
    await waitFor('progress', () => progressOf(run));
    await service.nats.kill9();
    await service.nats.restart();
    await waitFor('the log', async () => (await service.facts(run)).length === 3);
    await service.append(run.cancelRequested, await head(service.log, run));
    expect(await service.fact(run, 'RunCancelled')).toMatchObject({ attempt: 1 });
    expect(await waitFor('readiness', () => service.ready())).toBe(true);
  });
});
