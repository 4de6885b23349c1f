import { setTimeout as pause } from 'node:timers/promises';
import { openReceiver } from '@runledger/cli/receiver';
import { WebhookPayload } from '@runledger/contracts/deliveries/webhook-payload';
import { compiledSchema } from '@runledger/contracts/compiled-schema';
import { now } from '../cluster/clock.ts';
import { freePorts } from '@runledger/local-servers/free-port';
import type { ReceivedNotification } from './client-records.ts';

const Payload = compiledSchema(WebhookPayload);

export interface Receiver extends AsyncDisposable {
  /** Notifications go to `<url>/<request number>`. */
  readonly url: string;
  /** The same, where nobody listens before `makeReachable`. */
  readonly unreachableUrl: string;
  readonly makeReachable: () => Promise<void>;
  readonly received: readonly ReceivedNotification[];
}

const SLOW_MS = 400;

/**
 * How the receiver reacts to the final notification of a run. The request number decides, so that a seed repeats it.
 * Failures are spread out: many in a row would open the circuit breaker for a long time.
 */
const behaviourFor = (request: number): 'fails once' | 'gone' | 'disconnects once' | 'slow' | 'accepts' => {
  const kind = (request * 7_919) % 100;
  if (kind < 8) return 'fails once';
  if (kind < 11) return 'gone';
  if (kind < 14) return 'disconnects once';
  return kind < 24 ? 'slow' : 'accepts';
};

/** A webhook receiver on a real socket. It fails some first delivery attempts, and all attempts for a few runs. */
export const startReceiver = async (): Promise<Receiver> => {
  const received: ReceivedNotification[] = [];
  const attempted = new Set<string>();

  /** The status, or null to close the connection. */
  const answerTo = (request: number, { run_id, finished }: WebhookPayload): number | null => {
    const isFirst = finished && !attempted.has(run_id);
    if (finished) attempted.add(run_id);
    switch (behaviourFor(request)) {
      case 'fails once':
        return isFirst ? 500 : 200;
      case 'gone':
        return finished ? 410 : 200;
      case 'disconnects once':
        return isFirst ? null : 200;
      case 'slow':
      case 'accepts':
        return 200;
    }
  };

  const receive: Parameters<typeof openReceiver>[1] = async ({ path, headers, body }) => {
    const payload: unknown = JSON.parse(body.toString('utf8'));
    if (!Payload.Check(payload)) throw new Error('The request is not a notification.');
    const request = Number(path.split('/').at(-1));
    const answer = answerTo(request, payload);
    received.push({ at: now(), webhookId: String(headers['webhook-id']), payload, answer });
    if (behaviourFor(request) === 'slow') await pause(SLOW_MS);
    return answer === null ? undefined : { status: answer, text: '' };
  };
  await using opened = new AsyncDisposableStack();
  const { port } = opened.use(await openReceiver(0, receive));
  const [unreachablePort = 0] = await freePorts(1);
  const urlAt = (at: number): string => `http://127.0.0.1:${at}/hook`;
  const kept = opened.move();
  return {
    url: urlAt(port),
    unreachableUrl: urlAt(unreachablePort),
    makeReachable: async () => void kept.use(await openReceiver(unreachablePort, receive)),
    received,
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
};
