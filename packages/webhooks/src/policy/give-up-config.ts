import { seconds } from '@runledger/service-kit/config/config-schemas';

const DAY_S = 86_400;

/** Notifiers deliver for this time, and gateways accept only runs whose facts the log keeps until then. */
export const giveUpConfig = {
  RUNLEDGER_WEBHOOK_GIVE_UP_S: seconds({
    default: 3 * DAY_S,
    minimum: 1,
    maximum: 30 * DAY_S,
    description:
      'from the end of a run, or the request to send it again, until a notification is attempted no more, also behind an open breaker; the same for gateways and notifiers. With the longest run it must fit into the age of the log',
  }),
};
