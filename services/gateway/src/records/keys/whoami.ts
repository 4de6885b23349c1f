import { Whoami } from '@runledger/contracts/http/whoami';
import packageJson from '../../../package.json' with { type: 'json' };
import { operation, route, type Route } from '../../door/operation.ts';
import { notAuthenticated } from '../../door/caller.ts';
import type { Kit } from '../../kit.ts';
import { catalogue } from '../catalogue/catalogue.ts';

const whoamiOperation = operation({
  id: 'getWhoami',
  method: 'GET',
  path: '/whoami',
  tag: 'API keys',
  summary: 'Read whose the API key of the request is',
  description:
    'The organisation and the user that the calling key belongs to, the scopes of the key and when it expires, and the version of the gateway. A client can check a key with it, and a person which server and organisation they work with.',
  scope: 'runs:read',
  orScope: 'operator',
  request: {},
  response: { status: 200, description: 'Whose the key is.', body: Whoami },
  refusals: [],
});

export const whoamiRoute = ({ log }: Kit): Route =>
  route(whoamiOperation, async (_request, { org_id, user_id, key }) => {
    const records = catalogue(log);
    const [organisation, user] = await Promise.all([
      records.getOrganisation(org_id),
      records.getUser(org_id, user_id),
    ]);
    // Whoever erases an organisation removes its keys first: this one is refused in a moment.
    if (organisation === undefined || user === undefined) throw notAuthenticated();
    const { id, name, prefix, scopes, created_at, expires_at } = key;
    return {
      organisation: { id: organisation.id, name: organisation.name },
      user: { id: user.id, name: user.name },
      key: { id, name, prefix, scopes, created_at, expires_at },
      version: packageJson.version,
    };
  });
