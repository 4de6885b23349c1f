import { createOrganisation, OPERATOR_SCOPES, OWNER_SCOPES } from '@runledger/standalone/create-organisation';
import { CommandError } from '../output/command-error.ts';
import type { Json, Operator } from '../command/command-context.ts';
import { printRows } from '../output/table.ts';

const MAX_NAME_LENGTH = 128;

/** Creates an organisation with a user, a key and the sample, and prints the connection of its first client. */
export const createNamedOrganisation = async (
  { log, screen, record }: Operator,
  name: string,
  { operator = false, json = false }: Json & { readonly operator?: boolean },
): Promise<void> => {
  if (name.trim() === '' || name.length > MAX_NAME_LENGTH)
    throw new CommandError(
      `An organisation's name has 1 to ${MAX_NAME_LENGTH} characters. Choose another one.`,
    );
  const scopes = operator ? OPERATOR_SCOPES : OWNER_SCOPES;
  const created = await record(
    {
      action: 'organisation.created',
      org_id: null,
      target: { kind: 'organisation', id: null },
      details: { scopes: [...scopes] },
    },
    () => createOrganisation(log, name, () => new Date(), scopes),
    ({ org_id }) => ({ target: { kind: 'organisation', id: org_id } }),
  );
  if (json) return screen.printJson(created);
  printRows(screen, Object.entries(created));
  screen.hint('The key is shown only once. Save it now: only its hash is stored.');
};
