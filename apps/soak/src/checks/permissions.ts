import type { Check, Violation } from '../evidence/evidence.ts';

const guarantee = 'Each service can do at the broker what its contract says, and nothing else.';

export const permissions: Check = ({ trespasses, brokerRefusals }) => [
  ...trespasses.flatMap(({ user, action, subject, at, refused }): Violation[] => {
    const message = `${user} could ${action} to ${subject}.`;
    return refused ? [] : [{ guarantee, run: null, at, message }];
  }),
  ...brokerRefusals.map((line) => ({
    guarantee,
    run: null,
    message: `The broker refused a service: ${line}`,
  })),
];
