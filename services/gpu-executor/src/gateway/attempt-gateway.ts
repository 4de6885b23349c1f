import type { Assignment } from '../attempt/core/assignment.ts';

/** The gateway, for one attempt. */
export interface AttemptGateway {
  readonly assignment: Assignment;
  /** The address of what the gateway keeps for the attempt: `/executions/{org_id}/{run_id}/{attempt}/{name}`. */
  readonly url: (name: string, query?: Readonly<Record<string, string>>) => URL;
  /** Signed by this executor when it is first needed, which few attempts do; worth nothing after the attempt. */
  readonly token: () => Promise<string>;
}

export interface GatewaySettings {
  readonly gateway: URL;
  readonly signAttempt: (assignment: Assignment) => Promise<string>;
  readonly log: Record<'info' | 'warn', (fields: object, message: string) => void>;
}

export const openAttemptGateway = (
  { gateway, signAttempt }: Pick<GatewaySettings, 'gateway' | 'signAttempt'>,
  assignment: Assignment,
): AttemptGateway => {
  const { org_id, run_id, attempt } = assignment;
  let token: Promise<string> | undefined;
  return {
    assignment,
    token: () => (token ??= signAttempt(assignment)),
    url: (name, query) => {
      const url = new URL(gateway);
      const base = gateway.pathname.replace(/\/$/, '');
      url.pathname = `${base}/executions/${org_id}/${run_id}/${attempt}/${name}`;
      if (query) url.search = new URLSearchParams(query).toString();
      return url;
    },
  };
};
