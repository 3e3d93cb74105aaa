import twincl.cli

twincl.cli.main()
