import { System } from '@runledger/contracts/http/installation/system';
import { operation, route, type Route } from '../http/operation.ts';
import { systemReader, type SystemOptions } from './read-system.ts';

const systemOperation = operation({
  id: 'getSystem',
  method: 'GET',
  path: '/system',
  tag: 'System',
  summary: 'Read the state of the installation',
  description:
    'The processes that respond, who leads, how far the views are, and what the streams hold. It responds within two seconds: what has not responded by then is named in `did_not_respond`, and `complete` is false. A process that does not respond is left out: compare with what should run.',
  scope: 'operator',
  request: {},
  response: { status: 200, description: 'The state of the installation.', body: System },
  refusals: [],
});

export const systemRoute = (options: SystemOptions): Route => {
  const read = systemReader(options);
  return route(systemOperation, () => read());
};
