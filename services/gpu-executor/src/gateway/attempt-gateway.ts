import type { Assignment } from '../attempt/core/assignment.ts';

/** The gateway, for one attempt. */
export interface AttemptGateway {
  readonly assignment: Assignment;
  /** The address of what the gateway keeps for the attempt: `/executions/{org_id}/{run_id}/{attempt}/{name}`. */
  readonly url: (name: string, query?: Readonly<Record<string, string>>) => URL;
  /** Signed by this executor; worth nothing after the attempt. */
  readonly token: string;
}

export interface GatewaySettings {
  readonly gateway: URL;
  readonly signAttempt: (assignment: Assignment) => Promise<string>;
  readonly log: { warn(fields: object, message: string): void };
}

export const openAttemptGateway = async (
  { gateway, signAttempt }: Pick<GatewaySettings, 'gateway' | 'signAttempt'>,
  assignment: Assignment,
): Promise<AttemptGateway> => {
  const { org_id, run_id, attempt } = assignment;
  return {
    assignment,
    token: await signAttempt(assignment),
    url: (name, query) => {
      const url = new URL(gateway);
      const base = gateway.pathname.replace(/\/$/, '');
      url.pathname = `${base}/executions/${org_id}/${run_id}/${attempt}/${name}`;
      if (query) url.search = new URLSearchParams(query).toString();
      return url;
    },
  };
};
