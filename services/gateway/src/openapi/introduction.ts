import type { Operation } from '../http/operation.ts';

const description = `
Runs deployed workflows on GPU machines.

A run of a deployment is queued, read by its id, and cancelled; it reports to a webhook. Every run ends, in exactly one of
\`success\`, \`failed\`, \`timeout\` and \`cancelled\`.

**Times** are ISO 8601 in UTC. **Durations** are seconds. **Ids** are UUIDs. Clients should ignore unknown members:
members may be added, and are never removed.

**Errors** have the body \`{"detail": …, "code": …, "request_id": …}\`. \`detail\` is a list of what is wrong for 422, and a sentence for every other
status. \`code\` is for programs: one cause with one remedy, which docs/errors.md of Runledger names. Clients may meet new codes.
Parameters of a query that an operation does not know are refused, except by \`queueRun\`, \`getRun\` and \`cancelRun\`, which name
them in the header \`Runledger-Warning\`.

**Lists** are newest first. \`next_cursor\` of a page leads to the next page. A new run changes no later page.
`.trim();

export const INFO = {
  title: 'Runledger run API',
  version: 'V2',
  description,
  license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
};

const about: Readonly<Record<Operation['tag'], string>> = {
  Runs: 'Queue, read, list, stream, cancel and repeat runs.',
  Files: 'Upload the files that are inputs of runs.',
  Webhooks: 'The outcome of notifications, and the secret that signs them.',
  Catalogue: 'Machines, workflows with their versions, and deployments.',
  Schedules: 'Runs of a deployment at the times of a cron expression.',
  Accounts: 'People who sign in, the organisations that they are members of, and invitations.',
  'API keys': "A user's keys.",
  Audit: 'Who did what.',
  Organisation: 'What it uses of the shared stores, its quotas, and for how long its runs are kept.',
  System: 'The installation as a whole, for its operators.',
  'Sealed values': 'What is stored encrypted, for the operators who change the keys.',
  Executors: 'What executes runs, for the operators of the fleet.',
};

export const TAGS = Object.entries(about).map(([name, description]) => ({ name, description }));
