import { waitFor } from '@runledger/testing/wait-for';
import { sendAndRecord, type SendRequest } from '../../../src/clients/api.ts';
import type { Receiver } from '../../../src/clients/receiver.ts';
import type { Organisation } from '../../../src/cluster/organisation.ts';
import { originOf } from '../../../src/cluster/service-environment.ts';

/** Two runs: one ends by itself, the other is cancelled. */
export interface Journey {
  /** Resolves when both have ended correctly and their final notifications were delivered. */
  completes(gatewayPort?: number): Promise<void>;
}

const ANSWER_WITHIN_MS = 60_000;
/** A request number for which the receiver accepts every notification. */
const ACCEPTED_REQUEST = 3;

export interface JourneyOptions {
  readonly gatewayPort: number;
  readonly organisation: Organisation;
  readonly receiver: Receiver;
}

/** Queues both runs and cancels the second one. Only the gateway has to be up. */
export const beginJourney = async ({
  gatewayPort,
  organisation,
  receiver,
}: JourneyOptions): Promise<Journey> => {
  const send = sendAndRecord(organisation, () => undefined);
  const queue = async (inputs: Readonly<Record<string, string>>): Promise<string> => {
    const webhook = `${receiver.url}/${ACCEPTED_REQUEST}`;
    const body = { deployment_id: organisation.deployments.ordinary, inputs, webhook };
    const answer = await post(send, gatewayPort, 'queue', null, '/run/deployment/queue', body);
    if (answer.kind !== 'queued') throw new Error(`nothing was queued: ${JSON.stringify(answer)}`);
    return answer.run;
  };
  const short = await queue({});
  const long = await queue({ lasts: 'until cancelled' });
  const cancel = await post(send, gatewayPort, 'cancel', long, `/run/${long}/cancel`);
  if (cancel.kind !== 'cancelled') throw new Error(`nothing was cancelled: ${JSON.stringify(cancel)}`);

  return {
    completes: async (port = gatewayPort) => {
      for (const [run, status] of Object.entries({ [short]: 'success', [long]: 'cancelled' })) {
        const path = `/run/${run}?wait=20`;
        await waitFor(
          `the run to end as ${status} and its notification to be delivered`,
          async () => {
            const answer = await send({ ...common(port, run), kind: 'wait', method: 'GET', path });
            if (answer.kind !== 'shown') throw new Error(JSON.stringify(answer));
            const { shown } = answer;
            if (shown.finished && shown.status !== status) throw new Error(JSON.stringify(shown));
            return shown.finished && shown.webhook_status === 'success';
          },
          { withinMs: ANSWER_WITHIN_MS },
        );
        const notification = receiver.received.find(
          ({ payload }) => payload.run_id === run && payload.finished,
        );
        if (notification?.payload.status !== status)
          throw new Error(`The status in the notification of ${run} is ${notification?.payload.status}.`);
      }
    },
  };
};

const common = (port: number, run: string | null) =>
  ({ request: ACCEPTED_REQUEST, run, gateway: `${originOf(port)}/api`, withinMs: ANSWER_WITHIN_MS }) as const;

const post = (
  send: SendRequest,
  port: number,
  kind: 'queue' | 'cancel',
  run: string | null,
  path: string,
  body?: unknown,
): ReturnType<SendRequest> => send({ ...common(port, run), kind, method: 'POST', path, body });
