import { waitFor } from '@runledger/testing/time/wait-for';
import { sendAndRecord, type SendRequest } from '../../../src/clients/api.ts';
import type { Receiver } from '../../../src/clients/receiver.ts';
import { steadyClock } from '../../../src/cluster/clock.ts';
import type { Organisation } from '../../../src/cluster/organisation.ts';
import { originOf } from '../../../src/cluster/service-environment.ts';

/** Two runs on their way: one that ends by itself, and one that is cancelled. */
export interface Journey {
  /** Resolves when both have ended as they should, and their webhooks were told. */
  arrives(gatewayPort?: number): Promise<void>;
}

const PATIENCE_MS = 60_000;
/** Of the numbers by which the receiver tells requests apart, one that it treats well. */
const WELL_TREATED = 3;

export interface JourneySpec {
  readonly gatewayPort: number;
  readonly organisation: Organisation;
  readonly receiver: Receiver;
}

/** Queues both, and asks for the cancel of the second, whoever else is there. */
export const beginJourney = async ({
  gatewayPort,
  organisation,
  receiver,
}: JourneySpec): Promise<Journey> => {
  const ask = sendAndRecord(organisation.api_key, steadyClock, () => undefined);
  const queue = async (inputs: Readonly<Record<string, string>>): Promise<string> => {
    const webhook = `${receiver.url}/${WELL_TREATED}`;
    const body = { deployment_id: organisation.deployments.plain, inputs, webhook };
    const answer = await post(ask, gatewayPort, 'queue', null, '/run/deployment/queue', body);
    if (answer.kind !== 'queued') throw new Error(`nothing was queued: ${JSON.stringify(answer)}`);
    return answer.run;
  };
  const short = await queue({});
  const long = await queue({ lasts: 'for ever' });
  const cancel = await post(ask, gatewayPort, 'cancel', long, `/run/${long}/cancel`);
  if (cancel.kind !== 'cancelled') throw new Error(`nothing was cancelled: ${JSON.stringify(cancel)}`);

  return {
    arrives: async (port = gatewayPort) => {
      for (const [run, status] of Object.entries({ [short]: 'success', [long]: 'cancelled' })) {
        const path = `/run/${run}?wait=20`;
        await waitFor(
          `the run to end as ${status}, and its webhook to be told`,
          async () => {
            const answer = await ask({ ...asked(port, run), asked: 'wait', method: 'GET', path });
            if (answer.kind !== 'shown') throw new Error(JSON.stringify(answer));
            const { shown } = answer;
            if (shown.finished && shown.status !== status) throw new Error(JSON.stringify(shown));
            return shown.finished && shown.webhook_status === 'success';
          },
          { withinMs: PATIENCE_MS },
        );
        const told = receiver.received.find(({ payload }) => payload.run_id === run && payload.finished);
        if (told?.payload.status !== status) throw new Error(`${run} was told as ${told?.payload.status}`);
      }
    },
  };
};

const asked = (port: number, run: string | null) =>
  ({ request: WELL_TREATED, run, gateway: `${originOf(port)}/api`, withinMs: PATIENCE_MS }) as const;

const post = (
  ask: SendRequest,
  port: number,
  what: 'queue' | 'cancel',
  run: string | null,
  path: string,
  body?: unknown,
): ReturnType<SendRequest> => ask({ ...asked(port, run), asked: what, method: 'POST', path, body });
