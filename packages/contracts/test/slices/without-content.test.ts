import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseRunEvent, RUN_EVENT_TYPES, type RunEvent } from '../../src/events/run-event.ts';
import { gpuModel } from '../../src/gpu.ts';
import { runEventWithoutContent } from '../../src/slices/without-content.ts';
import { extremeData } from '../fixtures/extreme-events.ts';
import { anEvent, runAfter } from '../fixtures/run-events.ts';

const pseudonym = (text: string): string => `key-${text.length}`;
const masked = (event: RunEvent): RunEvent => runEventWithoutContent(event, pseudonym);

const PLANTED = 'planted';

describe('an event without content', () => {
  it.each(RUN_EVENT_TYPES)('%s still matches its schema, with any members', (type) => {
    fc.assert(
      fc.property(extremeData[type], (data) => {
        const event = { ...anEvent(type), data } as RunEvent;
        expect(parseRunEvent(masked(event))).toMatchObject({ kind: 'event' });
      }),
    );
  });

  it('holds nothing that a client, a workflow or a person wrote', () => {
    const written = {
      inputs: { prompt: PLANTED },
      inputs_blob: null,
      file_inputs: [PLANTED],
      secret_inputs: [PLANTED],
    };
    const blob = { sha256: 'c'.repeat(64), bytes: 1 };
    const error = { message: PLANTED, kind: 'execution_error', node: PLANTED, retryable: true } as const;
    const outputs = {
      outputs: [
        {
          id: anEvent('RunQueued').run_id,
          output_id: PLANTED,
          node_id: null,
          node_meta: null,
          type: null,
          data: {},
        },
      ],
      outputs_blob: null,
      log_blob: blob,
    };
    const request = anEvent('RunQueued', {
      ...written,
      webhook: `https://${PLANTED}.example`,
      concurrency_key: PLANTED,
      runner: { kind: 'comfyui', url: `https://${PLANTED}.example` },
      idempotency: { request_sha256: 'b'.repeat(64) },
    });
    const events: RunEvent[] = [
      { ...request, correlation_id: PLANTED, traceparent: '00-12' },
      anEvent('RunAssigned', written),
      anEvent('RunAttemptFailed', { error, log_blob: blob }),
      anEvent('RunSucceeded', outputs),
      anEvent('RunFailed', { ...outputs, error }),
      anEvent('RunCancelled', outputs),
      anEvent('RunTimedOut', { message: PLANTED }),
      anEvent('RunGivenUp', { message: PLANTED }),
      anEvent('RunRequeued', { message: PLANTED }),
      anEvent('RunCancelEnforced', { message: PLANTED }),
      anEvent('RunExpired', { message: PLANTED, request: request.data }),
    ];
    for (const event of events) {
      const text = JSON.stringify(masked(event));
      expect(text).not.toContain(PLANTED);
      expect(text).not.toMatch(/b{64}|c{64}|00-12/);
    }
  });

  it('keeps what decides when and where the run executes', () => {
    const decisive = {
      priority: 7,
      weight: 2,
      concurrency_limit: 3,
      gpu: gpuModel('L4'),
      labels: ['eu'],
      max_attempts: 2,
    };
    const events = [
      anEvent('RunQueued', { ...decisive, concurrency_key: 'doc-1' }),
      anEvent('RunAssigned'),
      anEvent('RunStarted'),
      anEvent('RunSucceeded'),
    ];
    const [whole, without] = [runAfter(...events), runAfter(...events.map(masked))];
    expect(without).toMatchObject({ status: 'success', attempt: whole.attempt, number: whole.number });
    expect(without.request).toMatchObject({ ...decisive, concurrency_key: 'key-5' });
  });

  it('loses a member that only a later release knows', () => {
    const event = anEvent('RunQueued');
    const later = { ...event, data: { ...event.data, prompt: PLANTED } } as RunEvent;
    expect(masked(later).data).not.toHaveProperty('prompt');
  });
});
