import { describe, expect, it } from 'vitest';
import type { GpuModel } from '../../../src/gpu.ts';
import { MAX_LIVE_STATUS } from '../../../src/limits.ts';
import { liveStatus, storingStatus } from '../../../src/http/runs/live-status.ts';
import { Capacity, type QueuePosition } from '../../../src/requests/queue-position.ts';
import type { RunEventOf } from '../../../src/events/run-event.ts';
import type { Run } from '../../../src/fold/run.ts';
import { anEvent, runAfter } from '../../fixtures/run-events.ts';

const queued = (request: Partial<RunEventOf<'RunQueued'>['data']> = {}): Run => {
  const event = anEvent('RunQueued');
  return runAfter({ ...event, data: { ...event.data, gpu: 'A100', machine_name: 'farm', ...request } });
};
const program = { kind: 'program', program: 'render' } as const;

describe('the live status of a waiting run', () => {
  it.each<[string, QueuePosition]>([
    ['waiting for an A100 (next)', { ahead: 0, capacity: 'busy' }],
    ['waiting for an A100 (2 ahead)', { ahead: 2, capacity: 'busy' }],
    [
      'waiting for an A100: the log has no room for another attempt now',
      { ahead: 2, capacity: 'storage_full' },
    ],
    [
      'waiting for an A100: every executor that could execute it is draining',
      { ahead: 0, capacity: 'draining' },
    ],
    ['waiting for an A100: no executor offers one now', { ahead: 2, capacity: 'no_gpu' }],
    [
      'waiting for an A100: no executor that serves machine farm has one now',
      { ahead: 2, capacity: 'not_served' },
    ],
    [
      'waiting for an A100: no executor that has one offers program render now',
      { ahead: 2, capacity: 'no_runner' },
    ],
  ])('is "%s"', (sentence, position) => {
    expect(liveStatus(queued({ runner: program }), null, position)).toBe(sentence);
  });

  it('names the missing runner of a ComfyUI workflow', () => {
    expect(
      liveStatus(queued({ runner: { kind: 'comfyui' } }), null, { ahead: 0, capacity: 'no_runner' }),
    ).toBe('waiting for an A100: no executor that has one runs ComfyUI workflows now');
  });

  it('says that it may take other GPU models', () => {
    const fallbacks = { gpu_fallbacks: [{ gpu: 'L4' as const, after_s: 0 }] };
    expect(liveStatus(queued(fallbacks), null, { ahead: 0, capacity: 'busy' })).toBe(
      'waiting for an A100 or another GPU (next)',
    );
  });

  it.each([
    [['nvlink'], 'the label nvlink'],
    [['nvlink', 'zone:eu'], 'its 2 labels'],
  ])('names the missing labels %j', (labels, named) => {
    expect(liveStatus(queued({ labels }), null, { ahead: 0, capacity: 'no_label' })).toBe(
      `waiting for an A100: no executor that could execute it has ${named}`,
    );
  });

  it('names the time before which its request said not to start', () => {
    expect(liveStatus(queued({ delay_s: 60 }), null, { ahead: 0, capacity: 'delayed' })).toBe(
      'waiting until 2026-01-01T00:01:01.000Z, as requested',
    );
  });

  it('names its concurrency key', () => {
    expect(
      liveStatus(queued({ concurrency_key: 'k' }), null, { ahead: 0, capacity: 'concurrency_key' }),
    ).toBe('waiting for an A100: another run with its concurrency key executes');
  });

  it('names the limit of its organisation', () => {
    expect(liveStatus(queued(), null, { ahead: 0, capacity: 'organisation_limit' })).toBe(
      'waiting for an A100: its organisation executes as many runs as an operator allows',
    );
  });

  it('names the limit of its deployment', () => {
    const position: QueuePosition = { ahead: 0, capacity: 'concurrency_limit' };
    expect(liveStatus(queued({ concurrency_limit: 2 }), null, position)).toBe(
      'waiting for an A100: its deployment executes at most 2 at a time',
    );
  });

  it('names only the GPU while its queue position is unknown', () => {
    expect(liveStatus(queued(), null)).toBe('waiting for an A100');
  });

  it('fits its limit for any names of machine and program, and cuts no character in two', () => {
    for (const capacity of Capacity.enum) {
      for (const name of ['n'.repeat(1_000), `n${'🂡'.repeat(500)}`, '🂡'.repeat(500)]) {
        const gpu: GpuModel = 'A100-80GB';
        const run = queued({ gpu, machine_name: name, runner: { kind: 'program', program: name } });
        const sentence = liveStatus(run, null, { ahead: Number.MAX_SAFE_INTEGER, capacity }) ?? '';
        expect(sentence.length).toBeLessThanOrEqual(MAX_LIVE_STATUS);
        expect(sentence.isWellFormed()).toBe(true);
      }
    }
  });
});

describe('the live status of a run whose files are stored', () => {
  const uploading = runAfter(
    anEvent('RunQueued'),
    anEvent('RunAssigned'),
    anEvent('RunStarted'),
    anEvent('RunUploading'),
  );
  const progress = {
    stored: 3,
    files: 12,
    sentBytes: 5 * 1024 ** 2,
    bytes: 10 * 1024 ** 2,
    isWaiting: false,
  };

  it('is what its executor reports about that, and not what the program said before', () => {
    const status = storingStatus(progress);
    expect(status).toBe('storing output files: 3 of 12 stored, 50 % of 10.0 MiB sent');
    expect(liveStatus(uploading, status)).toBe(status);
    expect(liveStatus(uploading, 'row 7 of 9')).toBe('storing output files');
    expect(liveStatus(uploading, null)).toBe('storing output files');
  });

  it('says that the gateway does not take them', () =>
    expect(storingStatus({ ...progress, isWaiting: true })).toMatch(/, waiting for the gateway$/));
});
