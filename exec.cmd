@rem `npm start` begins with `exec`, so that the signals that npm forwards reach the hub and not a shell.
@rem On Windows, npm runs scripts with cmd, which has no `exec`: it finds this file, which runs the command.
@%*
