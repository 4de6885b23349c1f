import type { EventLog } from '@runledger/event-log/connect/event-log';
import { createOrganisation, OPERATOR_SCOPES, OWNER_SCOPES } from '@runledger/standalone/create-organisation';
import { CommandError } from '../output/command-error.ts';
import type { Screen } from '../output/screen.ts';
import { printRows } from '../output/table.ts';

const LONGEST_NAME = 128;

/** Creates an organisation with a user, a key and the sample, and prints what its first client needs. */
export const createNamedOrganisation = async (
  log: EventLog,
  name: string,
  screen: Screen,
  { operator = false, json = false }: { readonly operator?: boolean; readonly json?: boolean },
): Promise<void> => {
  if (name.trim() === '' || name.length > LONGEST_NAME)
    throw new CommandError(`An organisation's name has 1 to ${LONGEST_NAME} characters. Give another one.`);
  const scopes = operator ? OPERATOR_SCOPES : OWNER_SCOPES;
  const created = await createOrganisation(log, name, () => new Date(), scopes);
  if (json) return screen.printJson(created);
  printRows(screen, Object.entries(created));
  screen.hint('The key is shown this once. Keep it: only its hash is stored.');
};
