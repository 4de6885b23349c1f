import { url } from '@runledger/service-kit/config/config-schemas';
import { Type } from 'typebox';

/** The environment variable of the proxy for all requests to addresses that others choose. */
export const egressConfig = {
  RUNLEDGER_WEBHOOK_PROXY: Type.Optional(
    url({
      secret: true,
      description:
        'a forward proxy (CONNECT) that every notification, every request for the URL of an input, and every connection of a program with the network outgoing goes through, such as http://user:password@proxy:3128',
    }),
  ),
};
