import { Whoami } from '@runledger/contracts/http/whoami';
import packageJson from '../../package.json' with { type: 'json' };
import type { Client } from '../api-client/client.ts';
import { EXIT, type ExitCode } from '../output/command-error.ts';
import { printRows } from '../output/table.ts';

/** Shows which server, organisation, user and key commands work with now. */
export const whoami = async ({ connection, call, screen }: Client, json: boolean): Promise<ExitCode> => {
  const who = await call(Whoami, { method: 'GET', path: '/whoami' });
  const { url, source } = connection;
  if (json) {
    screen.printJson({ server: url, key_from: source, ...who, command_version: packageJson.version });
    return EXIT.done;
  }
  const { organisation, user, key, version } = who;
  printRows(screen, [
    ['server', url],
    ['key from', source],
    ['organisation', `${organisation.name} (${organisation.id})`],
    ['user', `${user.name} (${user.id})`],
    ['key', `${key.name} (${key.prefix}…, ${key.id})`],
    ['scopes', key.scopes.join(', ')],
    ['expires', key.expires_at ?? 'never', 'time'],
    ['version', version === packageJson.version ? version : `${version}, the command ${packageJson.version}`],
  ]);
  return EXIT.done;
};
