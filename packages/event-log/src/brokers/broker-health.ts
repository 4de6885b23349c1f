import { Type } from 'typebox';
import { compiledSchema } from '@runledger/contracts/compiled-schema';
import type { EventLog } from '../connect/event-log.ts';
import { BROKER_HEALTH } from './system-subjects.ts';

const response = compiledSchema(
  Type.Object({ data: Type.Object({ status: Type.String(), error: Type.Optional(Type.String()) }) }),
);
const WITHIN_MS = 5_000;

/**
 * What the connected broker, which is the only one, says is wrong with it; undefined when it is well. The log is connected as the system
 * user. @throws what the request fails with
 */
export const brokerFailure = async ({ nc }: EventLog): Promise<string | undefined> => {
  const said: unknown = (await nc.request(BROKER_HEALTH, '', { timeout: WITHIN_MS })).json();
  if (!response.Check(said)) throw new TypeError('the health of a broker has another shape');
  return said.data.error;
};
