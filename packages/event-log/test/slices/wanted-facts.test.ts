import { newUuid } from '@runledger/contracts/ids';
import type { StoredMessage } from '@runledger/contracts/fold/chain';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { aRun } from '@runledger/testing/run-events';
import { describe, expect, it } from 'vitest';
import { SliceRefused } from '../../src/slices/slice-sources.ts';
import { wantedFacts } from '../../src/slices/wanted-facts.ts';

const deployment_id = newUuid();
const ofDeployment = { organisations: [], deployments: [deployment_id], runs: [] };

const message = ({ org_id, run_id }: RunKey, fact: string, data: object = {}): StoredMessage => ({
  subject: `runs.${org_id}.${run_id}.${fact}`,
  sequence: 1,
  time: '2026-05-01T12:00:00.000Z',
  fence: null,
  expectedSequence: null,
  body: { data },
});
const queuedOf = (run: RunKey): StoredMessage =>
  message(run, 'life.queued.gateway.0.none', { deployment_id });

describe('the facts that a slice has', () => {
  it('are those of a run of the deployment, from its first one on', () => {
    const isWanted = wantedFacts(ofDeployment);
    const [run, other] = [aRun(), aRun()];
    const started = message(run, 'life.started.executor.1.a.1');
    expect(isWanted('RUNS', started)).toBe(false);
    expect(isWanted('RUNS', queuedOf(run))).toBe(true);
    expect(isWanted('RUNS', message(other, 'life.queued.gateway.0.none', { deployment_id: newUuid() }))).toBe(
      false,
    );
    expect(isWanted('RUNS', started)).toBe(true);
    expect(isWanted('RUNS', message(run, 'webhook.started.notifier.1'))).toBe(true);
    expect(isWanted('RUNS', message(other, 'webhook.started.notifier.1'))).toBe(false);
    const subject = `delivery_attempts.${run.org_id}.${run.run_id}.state`;
    expect(isWanted('DELIVERY_ATTEMPTS', { ...started, subject })).toBe(true);
  });

  it('are those of a run of which only the end with its request is left', () => {
    const expired = message(aRun(), 'life.ended.gateway.0.none', { request: { deployment_id } });
    expect(wantedFacts(ofDeployment)('RUNS', expired)).toBe(true);
  });

  it('are not those of a run of which an executor says that it is of the deployment', () => {
    const forged = message(aRun(), 'life.ended.executor.1.a.1', { deployment_id });
    expect(wantedFacts(ofDeployment)('RUNS', forged)).toBe(false);
  });

  it('are neither read markers nor terms of leaders', () => {
    const isWanted = wantedFacts({ organisations: [], deployments: [], runs: [] });
    for (const subject of ['runs.read_marker', 'runs.term'])
      expect(isWanted('RUNS', { ...message(aRun(), ''), subject })).toBe(false);
  });

  it('are refused when there are more runs than memory has room for', () => {
    const isWanted = wantedFacts(ofDeployment, 2);
    for (let n = 0; n < 2; n += 1) isWanted('RUNS', queuedOf(aRun()));
    expect(() => isWanted('RUNS', queuedOf(aRun()))).toThrow(SliceRefused);
  });
});
