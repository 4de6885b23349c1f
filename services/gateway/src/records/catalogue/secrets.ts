import {
  MAX_ORGANISATION_SECRET_BYTES,
  Secret,
  SecretList,
  SecretPath,
  SecretValue,
} from '@runledger/contracts/http/catalogue/secrets';
import { operation, route, type ExtraCheck, type Route } from '../../door/operation.ts';
import { isRecord } from '../../door/compiled.ts';
import { notFound, wrongValue } from '../../door/refusal.ts';
import type { Kit } from '../../kit.ts';
import { withinQuota, type Quotas } from '../quotas/quotas.ts';
import type { KnownSecret, SecretRecords } from './secret-records.ts';

const tag = 'Secrets';

const setSecret = operation({
  tag,
  id: 'setSecret',
  method: 'PUT',
  path: '/secrets/{name}',
  summary: 'Set a secret',
  description:
    'Creates it, or gives it another value. Code of versions that names it in `secrets` of its manifest gets the value as a variable, from the next run on: no version is made for it. Nobody is shown the value.',
  scope: 'admin',
  audit: { action: 'organisation_secret.set', target: 'name' },
  request: { path: SecretPath, body: SecretValue },
  response: { status: 200, description: 'The secret, without its value.', body: Secret },
});

const listSecrets = operation({
  tag,
  id: 'listSecrets',
  method: 'GET',
  path: '/secrets',
  summary: 'List the secrets',
  description: 'All of the organisation, by their names, and never with a value.',
  scope: 'runs:read',
  request: {},
  response: { status: 200, description: 'The secrets.', body: SecretList },
});

const removeSecret = operation({
  tag,
  id: 'removeSecret',
  method: 'DELETE',
  path: '/secrets/{name}',
  summary: 'Remove a secret',
  description:
    'At once, also when present versions name it: their runs end as `prepare_failed` from then on, with a sentence that names it.',
  scope: 'admin',
  audit: { action: 'organisation_secret.removed', target: 'name' },
  request: { path: SecretPath },
  response: { status: 204, description: 'The secret is removed.' },
  refusals: [404],
});

export const secretRoutes = ({ now }: Kit, secrets: SecretRecords, { secrets: quota }: Quotas): Route[] => [
  route(
    setSecret,
    async ({ path: { name }, body: { value } }, { org_id, user_id }) => {
      const set = () => secrets.set(org_id, name, { value, by: user_id, at: now() });
      const full = `The organisation has ${quota.limit} secrets, which is its limit: remove one of them, or ask the operator for a higher RUNLEDGER_QUOTA_SECRETS`;
      return shown(
        (await secrets.has(org_id, name)) ? await set() : await withinQuota(quota, org_id, 1, set, full),
      );
    },
    checkBytes,
  ),
  route(listSecrets, async (_request, { org_id }) => ({
    secrets: (await secrets.list(org_id)).map(shown),
  })),
  route(removeSecret, async ({ path: { name } }, { org_id }) => {
    if (!(await secrets.remove(org_id, name))) throw notFound('Secret');
  }),
];

const shown = ({ org_id: _org, ...secret }: KnownSecret): Secret => secret;

/** The schema bounds characters. No refusal repeats the value. */
const checkBytes: ExtraCheck = ({ body }) => {
  const value = isRecord(body) ? body['value'] : undefined;
  if (typeof value !== 'string' || value.length > MAX_ORGANISATION_SECRET_BYTES) return [];
  const bytes = Buffer.byteLength(value);
  return bytes <= MAX_ORGANISATION_SECRET_BYTES
    ? []
    : [
        wrongValue(
          ['body', 'value'],
          `it has ${bytes} bytes in UTF-8, and may have ${MAX_ORGANISATION_SECRET_BYTES}`,
        ),
      ];
};
