import { Role } from '@runledger/contracts/catalogue/records';
import { CreatedInvitationItem } from '@runledger/contracts/http/invitations';
import { SignInLinkItem } from '@runledger/contracts/http/accounts';
import { Option, type Command } from 'commander';
import type { Client, CommandContext } from '../command/command-context.ts';
import { plain } from '../command/command-error.ts';

/** Commands about people who sign in. */
export const addAccountCommands = (program: Command, { withClient, add }: CommandContext): void => {
  const group = program.command('accounts').description('people who sign in to the console');
  add(group, 'invite <email>', 'make a link with which somebody becomes a member of your organisation')
    .addOption(
      new Option('--role <role>', 'what the member may do')
        .choices(Role.enum)
        .default('developer' satisfies Role),
    )
    .option('--organisation <id>', 'as an operator: another organisation than that of the key')
    .action(withClient(invite));
  add(
    group,
    'link <email>',
    'make a link that signs a member of your organisation in, once, such as one who lost the password (needs the scope operator)',
  ).action(withClient(makeLink));
};

interface InviteOptions {
  readonly role: Role;
  readonly organisation?: string;
}

const invite = async (
  { call, screen }: Client,
  email: string,
  { role, organisation }: InviteOptions,
): Promise<void> => {
  const body = { email, role, organisation_id: organisation };
  const made = await call(CreatedInvitationItem, { method: 'POST', path: '/invitations', body });
  const member = `It makes ${plain(made.email)} a member with the role ${made.role}, once`;
  printLink(screen, made, member);
  if (!screen.isJson() && !made.may_create_account)
    screen.hint(
      'The person needs an account here, or signs in with the provider: only the link of an operator makes an account.',
    );
};

const makeLink = async ({ call, screen }: Client, email: string): Promise<void> => {
  const made = await call(SignInLinkItem, { method: 'POST', path: '/accounts/links', body: { email } });
  printLink(screen, made, `It signs ${plain(made.email)} in once`);
};

interface Link {
  readonly url: string;
  readonly expires_at: string;
}

const printLink = (screen: Client['screen'], made: Link, what: string): void => {
  screen.result(made, ({ url }) => url);
  if (!screen.isJson())
    screen.hint(`${what}, until ${made.expires_at}. Whoever has it can use it: hand it to this person only.`);
};
