import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { answered, api } from '../api/client.ts';
import { Problem } from '../ui/problem.tsx';
import { keepBegunSignIn } from './begun-sign-in.ts';

interface ProviderButtonProps {
  readonly children: ReactNode;
  /** The path to which the browser comes back. */
  readonly returnTo: string;
  /** The token of the invitation that is accepted with the sign-in. */
  readonly invitation?: string;
}

/** Leads to the page of the provider, where the person signs in. */
export const ProviderButton = ({ children, returnTo, invitation }: ProviderButtonProps): ReactNode => {
  const begin = useMutation({
    mutationFn: async () => {
      const body = invitation === undefined ? {} : { invitation };
      const { url, pending } = await answered(api.POST('/session/oidc', { body }));
      keepBegunSignIn({ pending, returnTo });
      location.assign(url);
    },
  });
  return (
    <div className="stack">
      {begin.error && <Problem error={begin.error} />}
      <div>
        <button type="button" disabled={begin.isPending} onClick={() => begin.mutate()}>
          {children}
        </button>
      </div>
    </div>
  );
};
