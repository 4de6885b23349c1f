import { newAttemptKeys } from '@runledger/contracts/attempt-token';
import { executorId } from '@runledger/contracts/ids';
import type { StoredMessage } from '@runledger/contracts/fold/chain';
import type { RedriveResponse } from '@runledger/contracts/requests/operator-requests';
import { runEventSubject } from '@runledger/contracts/events/subjects';
import { append } from '@runledger/event-log/append/append';
import { requestRedrive } from '@runledger/request-reply/redrive';
import { openEventLog } from '@runledger/event-log/connect/event-log';
import { silentLogger } from '@runledger/event-log/connect/observability';
import { provision } from '@runledger/event-log/provision/provision';
import { testNats } from '@runledger/testing/servers/nats';
import { describe, expect, it } from 'vitest';
import { redriveAddressed } from '../../../src/attempt/executor-log.ts';
import { anAssignedRun } from '../../fixtures/assigned-run.ts';

const ID = executorId('box.0a1b2c3d4e5f');

describe('a dead letter that an executor redrives', () => {
  it('is taken when it is addressed to the executor and still in the log; else the response says why not', async () => {
    await using nats = await testNats();
    await using log = await openEventLog({ url: nats.url, name: 'test' }, silentLogger);
    await using own = await openEventLog({ url: nats.url, name: 'test' }, silentLogger);
    await provision(log);
    const { publicKey } = await newAttemptKeys();
    const { assigned, queued } = anAssignedRun({ executor: ID, publicKey, program: 'quiet' });
    await append(log, queued, 0);
    await append(log, assigned, 1);
    const subject = runEventSubject(assigned);

    const handled: StoredMessage[] = [];
    let why: string | undefined;
    using responder = redriveAddressed(own, ID, (message) => {
      handled.push(message);
      return why === undefined ? { kind: 'accepted' } : { kind: 'no_fact', why };
    });
    await own.nc.flush();
    const redrive = (sequence: number, on?: string): Promise<RedriveResponse | undefined> => {
      const request = { stream: 'RUNS' as const, sequence, ...(on === undefined ? {} : { subject: on }) };
      return requestRedrive(log, 'executor.box', request, 10_000);
    };
    expect(await redrive(2, subject)).toEqual({ outcome: 'taken', why: `Executor ${ID} has taken it.` });
    expect(handled).toMatchObject([{ sequence: 2, subject, body: { type: 'RunAssigned' } }]);
    why = 'its version is of a later release';
    expect(await redrive(2, subject)).toMatchObject({
      outcome: 'refused',
      why: `It is still refused: ${why}.`,
    });
    expect(handled).toHaveLength(2);

    const reasons: (string | undefined)[] = [];
    const elsewhere = subject.replace('0a1b2c3d4e5f', 'another');
    const anyFact = subject.replace('assigned', '*');
    for (const [sequence, on] of [
      [2],
      [2, anyFact],
      [2, 'fleet.box.1.left'],
      [2, elsewhere],
      [99, subject],
    ] as const) {
      const response = await redrive(sequence, on);
      expect(response?.outcome).toBe('refused');
      reasons.push(response?.why);
    }
    expect(reasons).toEqual([
      expect.stringContaining('needs the subject'),
      expect.stringContaining('needs the subject'),
      expect.stringContaining('needs the subject'),
      expect.stringContaining('It is addressed to box.another'),
      expect.stringContaining('Message 99 is no longer in RUNS'),
    ]);
    expect(handled).toHaveLength(2);
    expect(responder).toBeDefined();
  });
});
