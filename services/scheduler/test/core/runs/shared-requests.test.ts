import { describe, expect, it } from 'vitest';
import { newUuid, orgId } from '@runledger/contracts/ids';
import { runRequest } from '@runledger/testing/run-events';
import { SharedRequests } from '../../../src/core/runs/known-run.ts';

const ORG = orgId(newUuid());
const sha = (digit: string): string => digit.repeat(64);

describe('requests of one deployment', () => {
  it('are one object, whatever their inputs, webhooks and idempotency keys are', () => {
    const requests = new SharedRequests();
    const first = requests.of({
      org_id: ORG,
      request: runRequest({
        inputs: { seed: 1 },
        webhook: 'https://example.com/1',
        idempotency: { request_sha256: sha('1') },
      }),
    });
    const second = requests.of({
      org_id: ORG,
      request: runRequest({
        inputs: { seed: 2 },
        webhook: 'https://example.com/2',
        idempotency: { request_sha256: sha('2') },
      }),
    });
    expect(second).toBe(first);
    expect(first.request).toStrictEqual(runRequest({ inputs: {}, webhook: null }));
  });

  it('are different objects when any member differs that a decision may need', () => {
    const requests = new SharedRequests();
    const all = [
      runRequest(),
      runRequest({ gpu: 'H100' }),
      runRequest({ machine_name: 'farm' }),
      runRequest({ runner: { kind: 'program', program: 'other' } }),
      runRequest({ start_deadline_s: 1 }),
      runRequest({ run_timeout_s: 1 }),
      runRequest({ max_attempts: 1 }),
      runRequest({ workflow_version_id: newUuid() }),
      runRequest({ workflow_sha256: sha('b') }),
    ].map((request) => requests.of({ org_id: ORG, request }));
    expect(new Set(all).size).toBe(all.length);
  });

  it('are never shared between organisations', () => {
    const requests = new SharedRequests();
    const request = runRequest();
    const other = orgId(newUuid());
    const shared = requests.of({ org_id: ORG, request });
    expect(requests.of({ org_id: other, request })).not.toBe(shared);
    expect(requests.of({ org_id: other, request }).org_id).toBe(other);
  });
});
